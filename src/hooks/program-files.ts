/**
 * What a program of the configuration consists of, so that an acceptance holds for the file that a person looked at and
 * not for whatever lies in its place later.
 */
import { createHash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { type FileFingerprints, fingerprintsOf, hasChanged } from '../lib/file-fingerprint.ts'
import { splitShellWords } from './shell-words.ts'

/** Programs whose first argument is the program in truth. */
const interpreterPattern = /^(?:node|deno|bun|tsx|python[\d.]*|ruby|perl|php|(?:ba|da|z|k|fi)?sh)$/
/** Of each file; what follows counts by its length. */
const maxHashedBytes = 16 * 1024 * 1024

/**
 * The files that a command names by their path, and the script that it gives to an interpreter. None where it names a
 * program of the PATH alone: who may install those may change them.
 * @param cwd the folder that it runs in
 */
export function programFiles(command: string, cwd: string): string[] {
  const [program = '', ...args] = splitShellWords(command) ?? []
  const files = program.includes('/') ? [resolve(cwd, program)] : []
  if (!interpreterPattern.test(basename(program))) return files
  const script = args.find((arg) => !arg.startsWith('-'))
  return script === undefined ? files : [...files, resolve(cwd, script)]
}

/** Another one as soon as a file is; '' where there is none. Never throws: what cannot be read is as good as absent. */
export function programHashOf(files: readonly string[]): string {
  const found = files.flatMap((file) => fileDigestOf(file) ?? [])
  return found.length === 0 ? '' : createHash('sha256').update(found.join('\n')).digest('hex')
}

function fileDigestOf(file: string): string | undefined {
  try {
    // Before it is opened: a pipe or a device would be waited for.
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
    // Whoever runs it says why it cannot be.
    return undefined
  }
}

/**
 * Tells whether the files are still those of one of the fingerprints. Reads them anew only when one of them was written.
 */
export function createProgramCheck(files: readonly string[], acceptedHashes: readonly string[]): () => boolean {
  let fileFingerprints: FileFingerprints | undefined
  let isAccepted = false
  return () => {
    if (fileFingerprints !== undefined && !hasChanged(fileFingerprints)) return isAccepted
    // Before they are read: what is written meanwhile is looked at again.
    fileFingerprints = fingerprintsOf(files)
    const hash = programHashOf(files)
    isAccepted = hash === '' || acceptedHashes.includes(hash)
    return isAccepted
  }
}
