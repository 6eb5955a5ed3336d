/**
 * What a shell command leaves to the next one: its directory and the variables that it exports. A shell forgets both at its
 * end, so a small script that runs first sets a trap that reports them at the end of the output. The script and the variables
 * travel in one variable of the environment: a command line could be read by others, and variables such as LD_PRELOAD would
 * already count for the programs that start the command. Loaded with the first command.
 */
import { randomBytes } from 'node:crypto'
import { quoteWord } from '../../lib/shell-quote.ts'
import type { ExportedVariables } from './environment.ts'
import { createOutputBuffer } from './output-buffer.ts'

/** The variable that carries the script. */
export const initVariable = 'HERMES_SHELL_INIT'

/** Characters of the list of variables before and after a command; a longer list is not reported. */
const maxListChars = 16_000
/** Limits a report at the end of the output: two lists, of at most four bytes a character. */
const maxReportBytes = 8 * maxListChars + 8_192
/** Variables are passed on as one variable, which has at most 128 KiB. */
const maxExportedChars = 32_000

export interface ShellEnd {
  /** Without links. Undefined if the command ended where it began. */
  readonly directory?: string
  /** What the command has changed. Undefined: nothing. */
  readonly exports?: ExportedVariables
  /** There are too many variables to be passed on; those of before still hold. */
  readonly isTooLarge?: true
}

/** Room for the report in an output whose middle is left out: half of it is the end. */
export const reportRoomBytes = 2 * maxReportBytes

interface PreparedCommand {
  readonly script: string
  readonly variables: Readonly<Record<string, string>>
}

interface ReportingCommand extends PreparedCommand {
  /** Takes the report out of the output. Without an end the command has reported nothing, as after `exec`. */
  read(output: string): { readonly output: string; readonly end?: ShellEnd }
}

/** A command that begins with these variables and reports its end. `cwd`: where it begins. */
export function reportingCommand(command: string, cwd: string, exports: ExportedVariables): ReportingCommand {
  const mark = `__hermes_${randomBytes(16).toString('hex')}`
  return {
    script: `eval "$${initVariable}"; ${command}`,
    variables: { [initVariable]: `${assignments(exports)}${reportAtEnd(mark)}` },
    read(output) {
      const { output: text, report } = splitReport(output, mark)
      const end = report === '' ? undefined : readReport(report, mark, cwd)
      return { output: text, ...(end && { end }) }
    },
  }
}

/** A command that begins with these variables. */
export function continuingCommand(command: string, exports: ExportedVariables): PreparedCommand {
  if (exports.size === 0) return { script: command, variables: {} }
  return {
    script: `eval "$${initVariable}"; ${command}`,
    variables: { [initVariable]: assignments(exports) },
  }
}

function assignments(exports: ExportedVariables): string {
  const lines = [...exports].map(([name, value]) =>
    value === null ? `unset -v ${name}` : `export ${name}=${quoteWord(value)}`,
  )
  return `unset -v ${initVariable}\n${lines.map((line) => `${line}\n`).join('')}`
}

/**
 * Only what is built into every POSIX shell. The trap runs after `exit` and `set -e`, too; a command with an EXIT trap of its own
 * reports nothing. Where the command has redirected its output into a file, the report does not belong there.
 */
function reportAtEnd(mark: string): string {
  const isShort = ['env', 'end'].map((name) => `[ "\${#__hermes_${name}}" -lt ${maxListChars} ]`).join(' && ')
  return `__hermes_env=$(export -p)
[ ! -f /dev/stdout ] || __hermes_file=1
trap '{
set +exuv
if [ ! -f /dev/stdout ] || [ -n "$__hermes_file" ]; then
__hermes_end=$(export -p)
if [ "$__hermes_env" = "$__hermes_end" ]; then __hermes_env=same __hermes_end=same
elif ! { ${isShort}; }; then __hermes_env=large __hermes_end=large; fi
printf "\\n%s<\\n%s\\n%s\\n%s=\\n%s\\n%s=\\n%s\\n%s>\\n" ${mark} "$PWD" "$(pwd -P)" ${mark} "$__hermes_env" ${mark} "$__hermes_end" ${mark}
fi
} 2>/dev/null' EXIT
`
}

/** `report` is '' for none, and for an incomplete one. No part of a report stays in the output: it may contain secrets. */
function splitReport(output: string, mark: string): { output: string; report: string } {
  const start = output.lastIndexOf(`\n${mark}<`)
  const end = output.lastIndexOf(`${mark}>`)
  if (start === -1) return { output: end === -1 ? output : output.slice(end + mark.length + 1), report: '' }
  const before = output.slice(0, start).replace(/\r$/, '')
  if (end < start) return { output: before, report: '' }
  const after = output.slice(end + mark.length + 1).replace(/^\r?\n/, '')
  // A pseudo-terminal ends lines with both characters.
  return { output: before + after, report: output.slice(start, end).replaceAll('\r\n', '\n') }
}

function readReport(report: string, mark: string, cwd: string): ShellEnd | undefined {
  const [location = '', before = '', after = ''] = report.split(`\n${mark}=\n`)
  const [, , logical = '', physical = ''] = location.split('\n')
  if (!physical.startsWith('/')) return undefined
  const moved = logical === cwd || physical === cwd ? {} : { directory: physical }
  const list = after.replace(/\n$/, '')
  if (list === 'same') return moved
  if (list === 'large') return { ...moved, isTooLarge: true }
  const [old, now] = [parseExports(before), parseExports(list)]
  if (old === undefined || now === undefined) return moved
  const exports = changedExports(old, now)
  return exports.size === 0 ? moved : { ...moved, exports }
}

/** The variables for the next command; undefined if they are too many. */
export function mergeExports(exports: ExportedVariables, changed: ExportedVariables): ExportedVariables | undefined {
  const merged = new Map([...exports, ...changed])
  const chars = [...merged].reduce((sum, [name, value]) => sum + name.length + (value?.length ?? 0) + 20, 0)
  return chars > maxExportedChars ? undefined : merged
}

/** Cuts an output that had room for a report to the length that it may have. */
export function limitOutput(output: string, maxBytes: number): string {
  const bytes = Buffer.from(output)
  if (bytes.length <= maxBytes) return output
  const note = /\n\[\u2026 (\d+) bytes left out \u2026\]\n/
  const [whole = '', earlier = '0'] = note.exec(output) ?? []
  const buffer = createOutputBuffer(maxBytes)
  buffer.add(bytes)
  const left = Number(earlier) - Buffer.byteLength(whole)
  return buffer.text().replace(note, (text, count) => text.replace(count, String(Number(count) + left)))
}

/**
 * Variables that no command leaves to the next one: those of the shell itself, those with which the gateway speaks to its own program, and
 * those whose values the command policy presumes.
 */
const ownVariables = new Set([
  ...['PWD', 'OLDPWD', 'SHLVL', '_', 'IFS', 'HOME', 'BASH_ENV', 'ENV', 'SHELLOPTS', 'BASHOPTS', 'PS4'],
])

function isPassedOn(name: string): boolean {
  return !ownVariables.has(name) && !name.startsWith('HERMES_') && !name.startsWith('__hermes_')
}

function changedExports(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): ExportedVariables {
  const changed = new Map<string, string | null>()
  // A value with bytes that are no text was not read exactly.
  for (const [name, value] of after)
    if (before.get(name) !== value && isPassedOn(name) && !/[\ufffd\u2400]/.test(value)) changed.set(name, value)
  for (const name of before.keys()) if (!after.has(name) && isPassedOn(name)) changed.set(name, null)
  return changed
}

const declaration = /\s*(?:export|(?:declare|typeset) -\S+) ([A-Za-z_]\w*)(=?)/y

/** Reads what `export -p` of a POSIX shell prints. Undefined if it is something else. Exported for tests. */
export function parseExports(text: string): ReadonlyMap<string, string> | undefined {
  const variables = new Map<string, string>()
  for (let at = 0; at < text.length; ) {
    if (text.slice(at).trim() === '') break
    declaration.lastIndex = at
    const [head, name = '', equals] = declaration.exec(text) ?? []
    if (head === undefined) return undefined
    at += head.length
    if (equals === '') continue
    const word = readWord(text, at)
    if (word === undefined) return undefined
    variables.set(name, word.value)
    at = word.end
  }
  return variables
}

/** Reads a quoted word of a shell, up to a blank. */
function readWord(text: string, start: number): { readonly value: string; readonly end: number } | undefined {
  let value = ''
  let at = start
  while (at < text.length && !/\s/.test(text[at] ?? '')) {
    const quoted = /\$'((?:[^'\\]|\\[\s\S])*)'|'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])|([^\s'"\\$]+|\$)/y
    quoted.lastIndex = at
    const match = quoted.exec(text)
    if (match === null) return undefined
    const [all, escaped, single, double, character, plain] = match
    if (escaped !== undefined) value += decodeEscapes(escaped)
    else
      value +=
        single ?? double?.replace(/\\([$`"\\\n])/g, (_, char) => (char === '\n' ? '' : char)) ?? character ?? plain
    at += all.length
  }
  return { value, end: at }
}

const escapes: Readonly<Record<string, string>> = {
  ...{ a: '\x07', b: '\b', e: '\x1b', E: '\x1b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' },
}

/** The escapes of `$'...'`. Where the locale is not UTF-8, each byte of a character is one. */
function decodeEscapes(text: string): string {
  const parts: Buffer[] = []
  for (const [all, octal, hex, unicode, character] of text.matchAll(
    /\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|[uU]([0-9a-fA-F]{1,8})|([\s\S]))|[^\\]+/g,
  )) {
    if (octal !== undefined) parts.push(Buffer.of(Number.parseInt(octal, 8) & 0xff))
    else if (hex !== undefined) parts.push(Buffer.of(Number.parseInt(hex, 16)))
    else if (unicode !== undefined)
      parts.push(Buffer.from(String.fromCodePoint(Number.parseInt(unicode, 16) % 0x110000)))
    else parts.push(Buffer.from(character === undefined ? all : (escapes[character] ?? character)))
  }
  return Buffer.concat(parts).toString('utf8')
}
