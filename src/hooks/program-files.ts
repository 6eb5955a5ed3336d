/**
 * The files of a program in the configuration, and their hash. An acceptance is valid only for the content that the user has
 * accepted.
 */
import { createHash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { type FileFingerprints, fingerprintsOf, hasChanged } from '../lib/file-memo.ts'
import { splitShellWords } from './shell-words.ts'

/** Interpreters, which run the script in their first argument. */
const interpreterPattern = /^(?:node|deno|bun|tsx|python[\d.]*|ruby|perl|php|(?:ba|da|z|k|fi)?sh)$/
/** Bytes of each file that are hashed. The hash of a longer file includes its length as well. */
const maxHashedBytes = 16 * 1024 * 1024

/**
 * The files that a command names by path, and the script of an interpreter. Programs that are found through PATH are not
 * included, because only an administrator can replace them.
 * @param cwd the working directory of the program
 */
export function programFiles(command: string, cwd: string): string[] {
  const [program = '', ...args] = splitShellWords(command) ?? []
  const files = program.includes('/') ? [resolve(cwd, program)] : []
  if (!interpreterPattern.test(basename(program))) return files
  const script = args.find((arg) => !arg.startsWith('-'))
  return script === undefined ? files : [...files, resolve(cwd, script)]
}

/** '' without readable files. Never throws. */
export function programHashOf(files: readonly string[]): string {
  const digests = files.flatMap((file) => fileDigestOf(file) ?? [])
  return digests.length === 0 ? '' : createHash('sha256').update(digests.join('\n')).digest('hex')
}

function fileDigestOf(file: string): string | undefined {
  try {
    // Checked before opening, because opening a pipe or a device would block.
    if (!statSync(file).isFile()) return undefined
    const opened = openSync(file, 'r')
    try {
      const { size } = fstatSync(opened)
      const content = Buffer.alloc(Math.min(size, maxHashedBytes))
      readSync(opened, content, 0, content.length, 0)
      return `${file} ${size} ${createHash('sha256').update(content).digest('hex')}`
    } finally {
      closeSync(opened)
    }
  } catch {
    // Running the program reports why it cannot be read.
    return undefined
  }
}

/**
 * Returns a function that checks whether the files match an accepted hash. It reads the files only after a change.
 */
export function createProgramCheck(files: readonly string[], acceptedHashes: readonly string[]): () => boolean {
  let fileFingerprints: FileFingerprints | undefined
  let isAccepted = false
  return () => {
    if (fileFingerprints !== undefined && !hasChanged(fileFingerprints)) return isAccepted
    // Taken before the files are read, so that a concurrent change is detected by the next check.
    fileFingerprints = fingerprintsOf(files)
    const hash = programHashOf(files)
    isAccepted = hash === '' || acceptedHashes.includes(hash)
    return isAccepted
  }
}
