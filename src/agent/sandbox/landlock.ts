/**
 * The command line that applies Landlock for a view, by a program in Perl (`landlock.pl`). Landlock knows allow lists only, so a
 * directory with a hidden entry is opened entry by entry.
 */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isWithin } from '../../lib/files.ts'
import { findEntry, listDirectory, type SandboxView, type WrapOptions } from './sandbox.ts'
import { unixSocketFilter } from './socket-filter.ts'

const script = fileURLToPath(new URL('landlock.pl', import.meta.url))

/** The numbers of the system calls `prctl` and `capget`. */
const callNumbers: Readonly<Partial<Record<NodeJS.Architecture, readonly [prctl: number, capget: number]>>> = {
  ...{ x64: [157, 125], arm64: [167, 90], riscv64: [167, 90], loong64: [167, 90], ppc64: [171, 183] },
  ...{ s390x: [172, 184], ia32: [172, 184], arm: [172, 184] },
}

/** The bits of `LANDLOCK_ACCESS_FS`. */
const [execute, writeFile, readFile, readDirectory] = [1, 2, 4, 8]
const truncate = 1 << 14
/** Remove and make entries of all kinds but devices, and move them between directories. */
const changeDirectory = (1 << 4) | (1 << 5) | (1 << 7) | (1 << 8) | (1 << 9) | (1 << 10) | (1 << 12) | (1 << 13)

const readAccess = { file: readFile | execute, directory: readFile | readDirectory | execute }
const writeAccess = {
  file: readAccess.file | writeFile | truncate,
  directory: readAccess.directory | writeFile | truncate | changeDirectory,
}

/** Devices that every program may use. The others are closed: on a disk root, or the group of disks, can read what is hidden. */
const devices = [
  '/dev/null',
  '/dev/zero',
  '/dev/full',
  '/dev/random',
  '/dev/urandom',
  '/dev/tty',
  '/dev/ptmx',
  '/dev/pts',
  '/dev/shm',
]

/** A directory with more entries is allowed or left out as a whole. */
const maxEntries = 2_000

/**
 * Runs `argv` with the files of the view, with `landlockScopes`, and without Unix sockets unless one is listed
 * itself: the kernel cannot tell them apart. `program` is Perl.
 */
export function landlockCommand(
  view: SandboxView,
  program: string,
  argv: readonly string[],
  { exposed = [] }: WrapOptions,
): readonly string[] {
  const isOpen = [...view.readOnly, ...view.writable].includes('/dev')
  const closed = isOpen ? view : { ...view, hidden: [...view.hidden, '/dev'] }
  const rules = [
    ...allowAround('/', closed, 'readOnly'),
    ...view.readOnly.filter(isInHidden(closed)).flatMap((path) => allowAround(path, closed, 'readOnly')),
    ...view.writable.flatMap((path) => allowAround(path, closed, 'writable')),
    ...(view.privateTmp === undefined ? [] : [ruleFor(view.privateTmp, 'writable')]),
    ...devices.flatMap((path) => allowAround(path, view, 'writable')),
    ...exposed.map((path) => ruleFor(path, 'readOnly')),
  ].filter((rule) => rule !== undefined)
  const mayConnect = [...view.readOnly, ...view.writable].some((path) => findEntry(path)?.isSocket() === true)
  const filter = mayConnect ? undefined : unixSocketFilter(process.arch)
  return [...commandLine(program, 'files', filter, rules), ...argv]
}

/**
 * What stands before a command line that is to run without abstract Unix sockets of other programs, such as X11 and D-Bus, and without
 * signals to their processes, where the kernel can restrict them (Linux 6.12). `program` is Perl.
 */
export function landlockScopes(program: string): readonly string[] {
  return commandLine(program, 'none', undefined, [])
}

function commandLine(
  program: string,
  kind: 'files' | 'none',
  filter: string | undefined,
  rules: readonly string[],
): readonly string[] {
  const [prctl, capget] = callNumbers[process.arch] ?? [0, 0]
  return [program, script, `${prctl}`, `${capget}`, kind, filter ?? '-', ...rules, '--']
}

/** Readable all the same, such as skills in the home of the gateway. */
const isInHidden =
  ({ hidden }: SandboxView) =>
  (path: string): boolean =>
    hidden.some((entry) => isWithin(path, entry))

/** Rules for the path without what the view denies below it. */
function allowAround(
  path: string,
  view: SandboxView,
  access: 'readOnly' | 'writable',
): readonly (string | undefined)[] {
  const denied = access === 'readOnly' ? view.hidden : [...view.hidden, ...view.readOnly]
  if (denied.includes(path)) return []
  if (!denied.some((entry) => isWithin(entry, path))) return [ruleFor(path, access)]
  const names = listDirectory(path)
  if (names.length > maxEntries) return []
  return names.flatMap((name) => allowAround(join(path, name), view, access))
}

/** Undefined for a path that does not exist and for a link: the rule of its target decides. */
function ruleFor(path: string, access: 'readOnly' | 'writable'): string | undefined {
  const entry = findEntry(path)
  if (entry === undefined || entry.isSymbolicLink()) return undefined
  const rights = access === 'readOnly' ? readAccess : writeAccess
  return `${entry.isDirectory() ? rights.directory : rights.file}:${path}`
}
