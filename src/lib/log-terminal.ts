/**
 * Formats log lines for a terminal with `pino-pretty`, which is loaded for the first line: it costs about 10 MB that a
 * gateway without a terminal does not pay.
 */
import { createRequire } from 'node:module'
import { escapeJsonLine } from './json.ts'

/** One JSON line -> text for people, which ends with a line break. */
export type TerminalFormatter = (jsonLine: string) => string

/**
 * @param colour whether the text contains colour escapes
 * @param withDate for lines of several days
 */
export function createTerminalFormatter(colour: boolean, withDate = false): TerminalFormatter {
  const { prettyFactory }: typeof import('pino-pretty') = createRequire(import.meta.url)('pino-pretty')
  const format = prettyFactory({
    colorize: colour,
    singleLine: true,
    translateTime: withDate ? 'SYS:yyyy-mm-dd HH:MM:ss.l' : 'SYS:HH:MM:ss.l',
    // `error` is a common name in lines of plugins.
    errorLikeObjectKeys: ['err', 'error'],
    // Printed before the message, by default without quotes and with line breaks.
    customPrettifiers: { name: quote, pid: quote, hostname: quote, caller: quote },
  })
  return (jsonLine) => escapeJsonLine(format(JSON.parse(jsonLine, escapeRawFields)))
}

function quote(value: unknown): string {
  return JSON.stringify(value) ?? ''
}

/**
 * The two other fields that `pino-pretty` prints without JSON quotes. Control characters are escaped, so that a value cannot
 * forge a line or control the terminal.
 */
function escapeRawFields(key: string, value: unknown): unknown {
  if (typeof value !== 'string') return value
  if (key === 'msg') return escapeControls(value)
  return key === 'stack' ? value.split('\n').map(escapeControls).join('\n') : value
}

function escapeControls(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose
  return text.replace(/[\u0000-\u001f]/g, (character) => JSON.stringify(character).slice(1, -1))
}
