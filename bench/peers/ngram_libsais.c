/* SPDX-License-Identifier: Apache-2.0
 * A whole suffix array over words with libsais, a possible start for counting n-grams of any length: it sorts but does
 * not count. Reads a text of documents (one a line), numbers its words by hashing (not timed), ends each document with a unique
 * word. Prints words, wall seconds, CPU seconds (medians of 3). libsais.c is compiled with it. */
#include <libsais.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>

static double now(void) {
    struct timeval t;
    gettimeofday(&t, NULL);
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}
static double cpu(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}
static int rising(const void* a, const void* b) {
    const double x = *(const double*)a, y = *(const double*)b;
    return x < y ? -1 : x > y;
}

int main(int count, char** arguments) {
    if (count != 2) return 2;
    FILE* file = fopen(arguments[1], "rb");
    if (!file) return 1;
    fseek(file, 0, SEEK_END);
    const size_t bytes = (size_t)ftell(file);
    rewind(file);
    char* text = malloc(bytes);
    if (fread(text, 1, bytes, file) != bytes) return 1;
    const size_t slots = (size_t)1 << 24;
    struct slot {
        const char* word;
        uint32_t length;
        int32_t id;
    }* table = calloc(slots, sizeof *table);
    int32_t* words = malloc((bytes / 2 + 2) * sizeof *words);
    int32_t size = 0, distinct = 1, documents = 0;
    for (size_t i = 0; i < bytes; ++i) {
        const size_t begin = i;
        uint64_t hash = 14695981039346656037u;
        for (; i < bytes && text[i] != ' ' && text[i] != '\n'; ++i) hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
        if (i != begin) {
            size_t at = (hash ^ hash >> 32) & (slots - 1);
            while (table[at].word && (table[at].length != i - begin || memcmp(table[at].word, text + begin, i - begin)))
                at = (at + 1) & (slots - 1);
            if (!table[at].word) table[at] = (struct slot){text + begin, (uint32_t)(i - begin), distinct++};
            words[size++] = table[at].id;
        }
        if (i < bytes && text[i] == '\n') {
            words[size++] = 0;
            ++documents;
        }
    }
    int32_t *copy = malloc((size_t)size * 4), *sorted = malloc((size_t)size * 4);
    double wall[3], used[3];
    for (int r = 0; r < 3; ++r) {
        memcpy(copy, words, (size_t)size * 4);
        memset(sorted, 0, (size_t)size * 4);
        const double begin = now(), begin_cpu = cpu();
        if (libsais_int(copy, sorted, size, distinct, 0) != 0) return 1;
        wall[r] = now() - begin;
        used[r] = cpu() - begin_cpu;
    }
    qsort(wall, 3, sizeof *wall, rising);
    qsort(used, 3, sizeof *used, rising);
    printf("%d\t%.3f\t%.3f\n", size - documents, wall[1], used[1]);
    return 0;
}
