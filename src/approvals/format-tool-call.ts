/**
 * Formats a tool call for the user who approves it: short, without secrets, and without characters that could disguise it.
 */
import { createHash } from 'node:crypto'
import type { JsonObject } from '../lib/json.ts'
import { toOneLine } from '../lib/visible-text.ts'

/** Removes the secrets from a text. What only looks like a secret stays if `keeps` returns true for it. */
export type Redact = (text: string, keeps?: (secret: string) => boolean) => string

/** A shell could run a part of it, so that hiding it could hide a command. */
const isShellSyntax = (text: string) => /[\s$`;|&<>(){}'"\\]/.test(text)

const maxValueChars = 400
const maxArguments = 12
const maxCommandChars = 4_000

/** One line for each argument; a single one-line text is shown without its name. */
export function formatToolCall(args: JsonObject, redact: Redact): string {
  const entries = Object.entries(args)
  const [first] = entries
  if (entries.length === 1 && first !== undefined && typeof first[1] === 'string' && !first[1].includes('\n'))
    return escapeInvisible(redactAndTruncate(first[1], redact))
  const lines = entries
    .slice(0, maxArguments)
    .map(
      ([name, value]) =>
        `${escapeInvisible(redactAndTruncate(name, redact))}: ${escapeInvisible(redactAndTruncate(formatValue(value), redact))}`,
    )
  const more = entries.length - lines.length
  return [...lines, ...(more > 0 ? [`… and ${more} more`] : [])].join('\n')
}

const maxWholeChars = 1_400

/**
 * A command as it will run: complete, or with its hash, its length, its beginning and its end. Line breaks stay; runs of
 * spaces and of empty lines, which could move a part out of sight, are counted.
 */
export function formatWholeCommand(command: string, redact: Redact): string {
  const shown = redact(command, isShellSyntax)
  if (shown.length <= maxWholeChars) return showLayout(shown)
  const hash = createHash('sha256').update(command).digest('hex')
  const head = showLayout(shown.slice(0, (maxWholeChars / 3) * 2).toWellFormed())
  const tail = showLayout(shown.slice(-maxWholeChars / 3).toWellFormed())
  return `${head}\n… (${command.length} characters in all, sha256 ${hash}) …\n${tail}`
}

/** The change of a file as a block whose info string is its path. */
export function formatChange(change: { readonly path: string; readonly diff: string }, redact: Redact): string {
  const lines = redact(change.diff)
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/\r$/, '').split('\t').map(escapeInvisible).join('\t'))
  return `\`\`\`diff ${formatPath(change.path, redact)}\n${lines.join('\n')}\n\`\`\``
}

export function formatPath(path: string, redact: Redact): string {
  return escapeInvisible(redact(path)).replaceAll('`', "'")
}

function showLayout(text: string): string {
  return text
    .split('\n')
    .map((line) => escapeInvisible(line).replace(/(?<=\S) {8,}(?=\S)/g, (run) => ` …(${run.length} spaces)… `))
    .join('\n')
    .replace(/(?:\n[ ]*){4,}(?=\n)/g, (run) => `\n…(${run.split('\n').length - 1} empty lines)…`)
}

/** For plugins: the shell command, or the tool with its arguments. */
export function formatCommand(toolName: string, args: JsonObject, redact: Redact): string {
  const { command } = args
  const whole = typeof command === 'string' ? command : `${toolName} ${JSON.stringify(args)}`
  return truncateMiddle(redact(whole), maxCommandChars)
}

/** The reason that a plugin gives, on one line. */
export function formatReason(message: string, redact: Redact): string {
  return escapeInvisible(truncateMiddle(toOneLine(redact(message)), maxValueChars))
}

/** A line break inside a value could make one argument look like two. */
function formatValue(value: unknown): string {
  return typeof value === 'string' && !value.includes('\n') ? value : (JSON.stringify(value) ?? '')
}

/** Redacts before truncating, so that no part of a secret remains. */
function redactAndTruncate(text: string, redact: Redact): string {
  return truncateMiddle(redact(text), maxValueChars)
}

/** Keeps both ends, because the end of a command often matters most. */
function truncateMiddle(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text.toWellFormed()
  const tail = Math.floor(maxChars / 3)
  const head = maxChars - tail
  const left = text.length - maxChars
  return `${text.slice(0, head)} …(${left} characters left out)… ${text.slice(-tail)}`.toWellFormed()
}

/** Escapes invisible characters, bidirectional controls and the end of a code block. */
function escapeInvisible(text: string): string {
  return text
    .replace(
      /(?! )[\p{Cc}\p{Cf}\p{Co}\p{Zs}\p{Zl}\p{Zp}\p{DI}\u2800]/gu,
      (sign) => `\\u{${(sign.codePointAt(0) ?? 0).toString(16)}}`,
    )
    .replace(/`{3,}/g, "'''")
}
