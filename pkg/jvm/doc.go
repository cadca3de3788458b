// Package jvm finds Java processes in /proc and speaks HotSpot's attach protocol to them,
// without a JDK, a JVM or a C library. Linux only.
//
// The application must never be harmed. SIGQUIT kills a process that does not catch it,
// and makes a JVM that does not accept attachers print all its stacks. It is sent only to
// a process whose start time, mapped libjvm.so, signal mask, launcher and options show
// that it will start the attach listener. It is sent through a pidfd where the kernel has
// them (Linux 5.4) and no filter blocks them, so that a reused PID cannot receive it;
// elsewhere through kill(2), immediately after a check of the start time.
//
// Command lines, environment and system properties contain secrets: none of them leaves
// this process unless requested.
//
// All functions are safe for concurrent use. Protocol facts are from HotSpot's
// attachListener.cpp and attachListener_posix.cpp (attachListener_linux.cpp before JDK
// 22), and from proc(5).
package jvm
