// Package jvm finds Java processes in /proc and speaks HotSpot's attach
// protocol to them, without a JDK, a JVM or a C library of its own. Linux only.
//
// Its first rule is that an application is never hurt. SIGQUIT kills whatever
// does not catch it and makes a JVM that does not accept attachers print all its
// stacks, so it is sent only to a process whose start time, mapped libjvm.so,
// signal mask, launcher and options say that it starts the attach listener. Where
// the kernel has pidfds (Linux 5.4) and no filter takes them away, it is sent
// through one, so that a reused PID cannot receive it; elsewhere through kill(2),
// right after a look at the start time.
//
// Its second rule is that nothing the JVM says of itself leaves the process
// unasked: command lines, environment and system properties hold secrets.
//
// All functions may be called concurrently. Protocol facts are from HotSpot's
// attachListener.cpp and attachListener_posix.cpp (attachListener_linux.cpp
// before JDK 22), and from proc(5).
package jvm
