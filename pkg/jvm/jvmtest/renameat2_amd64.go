package jvmtest

// renameat2 is the number of renameat2(2), which package syscall lacks.
const renameat2 = 316
