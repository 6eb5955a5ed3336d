/**
 * Says where the mistake is in a module that cannot be loaded: `<file>:<line>: SyntaxError: …`.
 */
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { messageOf, stackOf } from './thrown.mjs'

/** How many files are looked through for a syntax error. */
const maxChecks = 20

/** @param files those the module consists of, in the order they were found */
export async function whereOf(thrown, path, files) {
  const stack = stackOf(thrown)
  const said = messageOf(thrown)
  if (stack === '') return { message: `${path}: ${said}`, stack }
  if (thrown.placed === true) return { message: thrown.message, stack: '' }
  const place =
    atTop(stack) ?? inFrames(stack, files) ?? (thrown instanceof SyntaxError ? await byChecking(files) : undefined)
  return { message: `${place ?? path}: ${said}`, stack }
}

/** `<file>:<line>` stands above the code that Node shows. */
function atTop(stack) {
  const found = /^(?<file>(?:file:\/\/)?\/[^\n]*?):(?<line>\d+)\n/.exec(stack)?.groups
  return found && `${plainPath(found.file)}:${found.line}`
}

/** The first frame in a file of the module. */
function inFrames(stack, files) {
  for (const { groups } of stack.matchAll(/(?<file>(?:file:\/\/)?\/[^\n()]*?):(?<line>\d+):\d+\)?$/gm)) {
    const file = plainPath(groups.file)
    if (files.includes(file)) return `${file}:${groups.line}`
  }
  return undefined
}

function plainPath(file) {
  return file.startsWith('file:') ? fileURLToPath(file) : file
}

/** Node tells the place of a syntax error in a module to nobody but the terminal. */
async function byChecking(files) {
  const { spawn } = process.getBuiltinModule('node:child_process')
  for (const file of files.filter((name) => !/\.[mc]?ts$/.test(basename(name))).slice(0, maxChecks)) {
    const said = await new Promise((resolve) => {
      const check = spawn(process.execPath, ['--check', file], { stdio: ['ignore', 'ignore', 'pipe'] })
      let text = ''
      check.stderr.setEncoding('utf8').on('data', (more) => {
        text += more
      })
      check.on('error', () => resolve(''))
      check.on('close', () => resolve(text))
    })
    const place = atTop(said)
    if (place !== undefined) return place
  }
  return undefined
}
