// Declarations of symbols that programs call and today's headers do not show: the fortified forms
// (Linux Standard Base, "Interface Definitions for libc"; their order of arguments is glibc's), and
// names kept for programs built with older headers.
#pragma once

#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

extern "C" {

int __open_2(const char* path, int flags);
int __open64_2(const char* path, int flags);
int __openat_2(int dirfd, const char* path, int flags);
int __openat64_2(int dirfd, const char* path, int flags);

ssize_t __read_chk(int fd, void* buf, size_t bytes, size_t limit);
ssize_t __pread_chk(int fd, void* buf, size_t bytes, off_t offset, size_t limit);
ssize_t __pread64_chk(int fd, void* buf, size_t bytes, off64_t offset, size_t limit);

ssize_t __readlink_chk(const char* path, char* text, size_t room, size_t limit);
ssize_t __readlinkat_chk(int dirfd, const char* path, char* text, size_t room, size_t limit);

size_t __fread_chk(void* buf, size_t limit, size_t size, size_t items, FILE* stream);
size_t __fread_unlocked_chk(void* buf, size_t limit, size_t size, size_t items, FILE* stream);
char* __fgets_chk(char* line, size_t limit, int bytes, FILE* stream);
char* __fgets_unlocked_chk(char* line, size_t limit, int bytes, FILE* stream);
int __fprintf_chk(FILE* stream, int flag, const char* format, ...);
int __vfprintf_chk(FILE* stream, int flag, const char* format, va_list list);
int __printf_chk(int flag, const char* format, ...);
int __vprintf_chk(int flag, const char* format, va_list list);
int __dprintf_chk(int fd, int flag, const char* format, ...);
int __vdprintf_chk(int fd, int flag, const char* format, va_list list);

int _IO_putc(int c, FILE* stream);
int _IO_getc(FILE* stream);
int __isoc99_fscanf(FILE* stream, const char* format, ...);
int __isoc99_vfscanf(FILE* stream, const char* format, va_list list);

int __xstat(int version, const char* path, struct stat* facts);
int __xstat64(int version, const char* path, struct stat64* facts);
int __lxstat(int version, const char* path, struct stat* facts);
int __lxstat64(int version, const char* path, struct stat64* facts);
int __fxstat(int version, int fd, struct stat* facts);
int __fxstat64(int version, int fd, struct stat64* facts);
int __xmknod(int version, const char* path, mode_t mode, dev_t* device);
int __xmknodat(int version, int dirfd, const char* path, mode_t mode, dev_t* device);
int __fxstatat(int version, int dirfd, const char* path, struct stat* facts, int flags);
int __fxstatat64(int version, int dirfd, const char* path, struct stat64* facts, int flags);

}  // extern "C"
