/* What can be said of a library without loading it: whether it is one, and which functions it has.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interp/tools/native.h"
#include "interp/tools/nearest.h"
#include "runtime/context.h"

static const span nowhere = {0, 0};

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
#elif defined(__riscv)
enum { MACHINE = EM_RISCV };
#else
enum { MACHINE = EM_NONE }; /* not judged */
#endif

static const char *machine_name(unsigned machine) {
    switch (machine) {
    case EM_X86_64: return "x86-64";
    case EM_AARCH64: return "AArch64";
    case EM_RISCV: return "RISC-V";
    case EM_386: return "i386";
    case EM_ARM: return "ARM";
    case EM_PPC64: return "PowerPC 64";
    case EM_S390: return "S/390";
    default: return "an unknown processor";
    }
}

/* ---- the file ---- */

typedef struct image {
    const unsigned char *bytes;
    size_t size;
} image;

static bool map_file(context *c, const char *path, image *out) {
    struct stat about;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool ok = file >= 0 && fstat(file, &about) == 0;
    if (ok && S_ISDIR(about.st_mode)) {
        errno = EISDIR;
        ok = false;
    }
    if (ok) {
        out->size = (size_t)about.st_size;
        out->bytes = NULL;
        if (out->size > 0) {
            void *p = mmap(NULL, out->size, PROT_READ, MAP_PRIVATE, file, 0);
            ok = p != MAP_FAILED;
            out->bytes = p;
        }
    }
    if (!ok)
        error_set(&c->err, ERROR_K0601, nowhere, "cannot read '%s': %s", path, strerror(errno));
    if (file >= 0) close(file);
    return ok;
}

static void unmap_file(const image *m) {
    if (m->size > 0) munmap((void *)(uintptr_t)m->bytes, m->size);
}

static bool malformed(context *c, const char *path, const char *found) {
    error_set(&c->err, ERROR_K0603, nowhere,
              "'%s' is no library: expected a shared object for %s, found %s", path,
              machine_name(MACHINE), found);
    error_help(&c->err, "kina-interp oracle loads what a compiler links with -shared");
    return false;
}

static bool check_head(context *c, const char *path, const image *m) {
    Elf64_Ehdr head;
    char found[80];
    if (m->size < sizeof head || memcmp(m->bytes, ELFMAG, SELFMAG) != 0)
        return malformed(c, path, m->size == 0 ? "an empty file" : "another kind of file");
    memcpy(&head, m->bytes, sizeof head);
    if (MACHINE != EM_NONE && head.e_machine != MACHINE) {
        snprintf(found, sizeof found, "one for %s", machine_name(head.e_machine));
        return malformed(c, path, found);
    }
    if (head.e_ident[EI_CLASS] != ELFCLASS64) return malformed(c, path, "one of 32 bits");
    if (head.e_type == ET_REL) return malformed(c, path, "an object file that is not linked yet");
    if (head.e_type != ET_DYN) return malformed(c, path, "a program");
    return true;
}

bool native_library_check(context *c, const char *path) {
    image m;
    if (!map_file(c, path, &m)) return false;
    bool ok = check_head(c, path, &m);
    unmap_file(&m);
    return ok;
}

/* ---- its functions ---- */

/* Entry i of a table of so many bytes each at `from`; false beyond the file. */
static bool entry(const image *m, uint64_t from, uint64_t i, size_t each, void *out) {
    uint64_t at;
    if (__builtin_mul_overflow(i, (uint64_t)each, &at) || __builtin_add_overflow(at, from, &at))
        return false;
    if (m->size < each || at > m->size - each) return false;
    memcpy(out, m->bytes + at, each);
    return true;
}

static const char *string_at(const image *m, const Elf64_Shdr *strings, uint64_t i) {
    uint64_t at = strings->sh_offset + i;
    if (at >= m->size || memchr(m->bytes + at, '\0', m->size - at) == NULL) return "";
    return (const char *)m->bytes + at;
}

/* Calls see(self, name) for each function that the library defines. */
static void each_function(const image *m, void (*see)(void *self, const char *name), void *self) {
    Elf64_Ehdr head;
    Elf64_Shdr table, strings;
    Elf64_Sym found;
    if (!entry(m, 0, 0, sizeof head, &head)) return;
    for (uint64_t s = 0; s < head.e_shnum; s++) {
        if (!entry(m, head.e_shoff, s, sizeof table, &table)) return;
        if (table.sh_type != SHT_DYNSYM) continue;
        if (!entry(m, head.e_shoff, table.sh_link, sizeof strings, &strings)) return;
        for (uint64_t i = 0; i < table.sh_size / sizeof found; i++) {
            if (!entry(m, table.sh_offset, i, sizeof found, &found)) return;
            if (ELF64_ST_TYPE(found.st_info) != STT_FUNC || found.st_shndx == SHN_UNDEF) continue;
            see(self, string_at(m, &strings, found.st_name));
        }
    }
}

typedef struct survey {
    const char *wanted;
    nearest close;
    bool plain; /* the function itself is there, without its C interface */
    int count;
    char names[ERROR_TEXT / 2];
} survey;

static const char prefix[] = "_mlir_ciface_";

static void see_function(void *self, const char *name) {
    survey *s = self;
    size_t length = sizeof prefix - 1;
    bool interface = strncmp(name, prefix, length) == 0;
    if (strncmp(s->wanted, prefix, length) == 0 && strcmp(s->wanted + length, name) == 0)
        s->plain = true;
    if (!interface) return;
    nearest_try(&s->close, name);
    size_t used = strlen(s->names);
    if (s->count++ < 8)
        snprintf(s->names + used, sizeof s->names - used, "%s%s", used > 0 ? ", " : "", name);
}

bool native_library_lacks(context *c, const char *path, const char *function) {
    image m;
    survey s = {.wanted = function, .close = nearest_to(function)};
    if (!map_file(c, path, &m)) return false;
    each_function(&m, see_function, &s);
    error_set(&c->err, ERROR_K0605, nowhere, "'%s' has no function %s", path, function);
    if (s.plain) {
        error_help(&c->err,
                   "it has %s without a C interface: give the func.func the attribute "
                   "llvm.emit_c_interface",
                   function + sizeof prefix - 1);
    } else if (s.close.found != NULL) {
        error_help(&c->err, "did you mean %s?", s.close.found);
    } else if (s.count > 0) {
        error_help(&c->err, "it has %s%s", s.names, s.count > 8 ? " and others" : "");
    } else {
        error_help(&c->err, "it has no function of a name that begins with %s", prefix);
    }
    unmap_file(&m);
    return false;
}
