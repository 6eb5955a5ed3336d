/**
 * The command line of `setpriv` (util-linux 2.40 and newer) that applies Landlock for a view. Landlock knows allow lists
 * only, so a directory with a hidden entry is opened entry by entry.
 */
import { join } from 'node:path'
import { findEntry, isWithin, type SandboxView, type WrapOptions } from './sandbox.ts'
import { listDirectory } from './view.ts'

const readAccess = { file: 'read-file,execute', directory: 'read-file,read-dir,execute' }
const writeAccess = {
  file: 'read-file,execute,write-file,truncate',
  directory:
    'read-file,read-dir,execute,write-file,truncate,remove-dir,remove-file,make-dir,make-reg,make-sock,make-fifo,make-sym,refer',
}

/** Devices that programs open for writing. */
const devices = ['/dev/null', '/dev/zero', '/dev/full', '/dev/tty', '/dev/ptmx', '/dev/pts', '/dev/shm']

/** A directory with more entries is allowed or left out as a whole. */
const maxEntries = 2_000

export function landlockCommand(
  view: SandboxView,
  program: string,
  argv: readonly string[],
  { exposed = [] }: WrapOptions,
): readonly string[] {
  const rules = [
    ...allowAround('/', view, 'readOnly'),
    ...view.readOnly.filter(isInHidden(view)).flatMap((path) => allowAround(path, view, 'readOnly')),
    ...view.writable.flatMap((path) => allowAround(path, view, 'writable')),
    ...(view.privateTmp === undefined ? [] : [ruleFor(view.privateTmp, 'writable')]),
    ...devices.map((path) => ruleFor(path, 'writable')),
    ...exposed.map((path) => ruleFor(path, 'readOnly')),
  ].filter((rule) => rule !== undefined)
  return [
    ...[program, '--no-new-privs', '--landlock-access', 'fs'],
    ...rules.flatMap((rule) => ['--landlock-rule', rule]),
    ...argv,
  ]
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
  const found = findEntry(path)
  if (found === undefined || found.isSymbolicLink()) return undefined
  const rights = access === 'readOnly' ? readAccess : writeAccess
  return `path-beneath:${found.isDirectory() ? rights.directory : rights.file}:${path}`
}
