/**
 * Locates the error in a module that cannot be loaded: `<file>:<line>: SyntaxError: …`.
 */
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { messageOf, stackOf } from './errors.mjs'

/** Limit of files that are checked for a syntax error. */
const maxSyntaxChecks = 20

/** @param files the files of the module, in the order of their import */
export async function locateError(thrown, path, files) {
  const stack = stackOf(thrown)
  const message = messageOf(thrown)
  if (stack === '') return { message: `${path}: ${message}`, stack }
  if (thrown.hasLocation === true) return { message: thrown.message, stack: '' }
  const location =
    locationAtTop(stack) ??
    locationInFrames(stack, files) ??
    (thrown instanceof SyntaxError ? await locateBySyntaxCheck(files) : undefined)
  return { message: `${location ?? path}: ${message}`, stack }
}

/** Node prints `<file>:<line>` above the code of a syntax error. */
function locationAtTop(stack) {
  const found = /^(?<file>(?:file:\/\/)?\/[^\n]*?):(?<line>\d+)\n/.exec(stack)?.groups
  return found && `${toFilePath(found.file)}:${found.line}`
}

/** The location of the first stack frame in a file of the module. */
function locationInFrames(stack, files) {
  for (const { groups } of stack.matchAll(/(?<file>(?:file:\/\/)?\/[^\n()]*?):(?<line>\d+):\d+\)?$/gm)) {
    const file = toFilePath(groups.file)
    if (files.includes(file)) return `${file}:${groups.line}`
  }
  return undefined
}

function toFilePath(file) {
  return file.startsWith('file:') ? fileURLToPath(file) : file
}

/** Node does not add the location of a syntax error in an ES module to the error, but `node --check` prints it. */
async function locateBySyntaxCheck(files) {
  const { spawn } = process.getBuiltinModule('node:child_process')
  for (const file of files.filter((name) => !/\.[mc]?ts$/.test(basename(name))).slice(0, maxSyntaxChecks)) {
    const stderr = await new Promise((resolve) => {
      const check = spawn(process.execPath, ['--disable-sigusr1', '--check', file], {
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      let text = ''
      check.stderr.setEncoding('utf8').on('data', (more) => {
        text += more
      })
      check.on('error', () => resolve(''))
      check.on('close', () => resolve(text))
    })
    const location = locationAtTop(stderr)
    if (location !== undefined) return location
  }
  return undefined
}
