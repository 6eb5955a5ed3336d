/**
 * The results of tool calls and their texts for the model: JSON of limited length, also where a call fails or is refused.
 */
import { isHermesError, messageOf } from '../../lib/errors.ts'
import { asArray, asString, isRecord, type JsonObject, parseJson } from '../../lib/json.ts'
import { beginningOf, endOf } from '../../lib/redact.ts'
import type { ToolResult } from './agent-hooks.ts'

/**
 * Replaces the middle of a long text by a line with the number of characters left out. Never splits a surrogate pair, nor a word:
 * it may be a secret, of which a part would not be found later.
 */
export function truncateMiddle(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  const noteOf = (left: number) => `\n[… ${left} characters left out …]\n`
  const available = Math.max(0, maxChars - noteOf(text.length).length)
  const head = beginningOf(text, Math.ceil(available / 2))
  const tail = endOf(text, Math.floor(available / 2))
  return `${head}${noteOf(text.length - head.length - tail.length)}${tail}`
}

/**
 * Serializes a result. When the JSON is longer than `maxChars`, truncates the middle of the text in `field` until it fits,
 * so that the result stays valid JSON.
 */
export function toResultJson<Value extends Readonly<Record<string, unknown>>>(
  value: Value,
  maxChars: number,
  field?: keyof Value & string,
): string {
  const complete = JSON.stringify(value)
  const text = field === undefined ? undefined : value[field]
  if (complete.length <= maxChars || field === undefined || typeof text !== 'string') return complete
  let budget = text.length
  let result = complete
  for (let attempt = 0; attempt < 12 && result.length > maxChars && budget > 0; attempt++) {
    // Quotes and line breaks take two characters in JSON, so the budget shrinks by proportion.
    budget = Math.floor(budget * Math.min(0.95, maxChars / result.length))
    result = JSON.stringify({ ...value, [field]: truncateMiddle(text, budget) })
  }
  return result
}

/** How long the result of a tool may be. */
export function storedCharsOf(limits: { readonly maxResultChars: number; readonly maxStoredChars?: number }): number {
  const { maxResultChars, maxStoredChars = maxResultChars } = limits
  return maxStoredChars
}

/** Why a tool could not do its work: a stable code for programs, and a sentence for the model. */
export interface ToolFailure {
  readonly code: string
  readonly reason: string
}

/** The result of a tool that could not do its work. */
export function toErrorJson({ code, reason }: ToolFailure, more: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({ error: reason, code, ...more })
}

/** Fields that tell most about a result, in this order. */
const tellingFields = ['summary', 'message', 'output', 'result', 'content', 'text', 'analysis', 'title']
/** Remarks for the model, and what every result has. */
const dullFields = ['success', 'note', 'note_on_page', 'hint', 'origin', 'snapshot']
const maxFields = 4

/**
 * One line for people about the result of a tool. `summarize` is that of the tool; without it, or when it throws or has nothing to
 * say, the line is made of the fields of the result. Never throws.
 */
export function summarizeResult(
  text: string,
  summarize: (value: JsonObject) => string | undefined = () => undefined,
): string {
  const value = parseJson(text)
  if (Array.isArray(value)) return countOf('item', value.length)
  if (!isRecord(value)) return /^\s*[[{]/.test(text) ? `${text.length} characters` : lineOf(text)
  try {
    const summary = summarize(value)
    if (typeof summary === 'string' && summary !== '') return summary
  } catch {
    // A plugin may have changed the shape of the result. The fields say what it is.
  }
  const telling = tellingFields.find((field) => typeof value[field] === 'string' && value[field] !== '')
  if (telling !== undefined) return lineOf(String(value[telling]))
  const fields = Object.entries(value).filter(([name]) => !dullFields.includes(name))
  const lists = fields.filter(([, items]) => Array.isArray(items))
  const facts = fields.filter(([, fact]) => /^(?:string|number|boolean)$/.test(typeof fact) && fact !== '')
  return [
    ...lists.map(([name, items]) => `${name}: ${asArray(items).length}`),
    ...facts.map(([name, fact]) => `${name}: ${typeof fact === 'string' ? beginningOf(fact, 80) : String(fact)}`),
  ]
    .slice(0, maxFields)
    .join(', ')
}

/** The first line with a text, and how many lines there are. */
export function lineOf(text: string): string {
  const first = /\S[^\n]*/.exec(text)?.[0].trimEnd() ?? ''
  const lines = lineCount(text)
  return lines > 1 ? `${first} (${lines} lines)` : first
}

/** Lines of a text. A line break at its end does not start another one. */
export function lineCount(text: string): number {
  let count = 0
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1
  return text === '' || text.endsWith('\n') ? count : count + 1
}

/** `+3 -1`: the lines that a unified diff adds and removes. '' for a diff that was cut, and for what is none. */
export function diffCount(diff: unknown): string {
  if (typeof diff !== 'string' || /^\[.*\]$/m.test(diff)) return ''
  const lines = diff.split('\n')
  const count = (line: RegExp) => lines.filter((text) => line.test(text)).length
  return diff === '' ? '' : `+${count(/^\+(?!\+\+ )/)} -${count(/^-(?!-- )/)}`
}

/** `1 match`, `2 matches`. */
export function countOf(noun: string, count: number): string {
  const plural = /(?:[sx]|ch)$/.test(noun) ? `${noun}es` : `${noun}s`
  return `${count} ${count === 1 ? noun : plural}`
}

export interface ExecutedToolResult extends ToolResult {
  /** The call was started before a crash, and its outcome is unknown. */
  readonly interrupted: boolean
  /** Why the tool did not run; null when it ran. */
  readonly rejectionReason: string | null
}

/** The tool does not run. The message is for the model. */
export class ToolRejected extends Error {
  readonly result: ExecutedToolResult

  constructor(status: 'error' | 'blocked', errorType: string, message: string) {
    super(message)
    this.name = 'ToolRejected'
    this.result = {
      result: errorJson(message, errorType === 'not_allowed_for_role' ? errorType : undefined),
      status,
      errorType,
      errorMessage: message,
      rejectionReason: message,
      durationMs: 0,
      interrupted: false,
    }
  }
}

export class OutcomeUnknownError extends Error {}

const unknownOutcomeText =
  'Interrupted, outcome unknown: the gateway stopped while this ran, and it was not run again. Find out what it did before you repeat it.'

const toolEffectNotice = '(This error occurred after the tool had finished: check what it did before you repeat it.)'

export function unknownOutcome(): ExecutedToolResult {
  return { ...new ToolRejected('error', 'interrupted', unknownOutcomeText).result, interrupted: true }
}

/**
 * @param value the result of the call; a plugin may have replaced it by any value. Throws if that is not serialisable.
 * @param toolOutput what the tool itself returned
 */
export function toExecutedResult(
  value: unknown,
  toolOutput: string | undefined,
  durationMs: number,
  sanitizeForModel: (result: string) => string,
): ExecutedToolResult {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null')
  const result = text === toolOutput ? text : sanitizeForModel(text)
  const base = { result, durationMs, interrupted: false, rejectionReason: null }
  if (!result.startsWith('{"error"')) return { ...base, status: 'ok', errorType: null, errorMessage: null }
  return { ...base, status: 'error', errorType: 'tool_error', errorMessage: errorMessageIn(result) }
}

function errorMessageIn(result: string): string {
  const parsed = parseJson(result)
  return isRecord(parsed) ? asString(parsed['error']) || result : result
}

/**
 * @param origin the plugin that threw the error, or null for the tool: the model must not assume that the tool is broken
 * @param hadEffect the tool had its effect before the error: the model must not repeat the call without a check
 */
export function failedResult(
  error: unknown,
  origin: string | null,
  hadEffect: boolean,
  durationMs: number,
): ExecutedToolResult & { readonly errorMessage: string } {
  const errorMessage = origin === null ? messageOf(error) : `${origin} failed: ${messageOf(error)}`
  // The person in the chat learns what to do about an environment that cannot be reached.
  const environmentError = isHermesError(error) && error.code.startsWith('environment/') ? error : undefined
  const text = environmentError === undefined ? errorMessage : `${errorMessage} ${environmentError.hint}`
  return {
    result: errorJson(hadEffect ? `${beginningOf(text, 1_500)} ${toolEffectNotice}` : text, environmentError?.code),
    status: 'error',
    errorType: error instanceof Error && typeof error.name === 'string' ? error.name : 'Error',
    errorMessage,
    durationMs,
    interrupted: false,
    rejectionReason: null,
  }
}

/** @param code for the model, where it must recognise the kind of refusal */
function errorJson(text: string, code?: string): string {
  return JSON.stringify({ error: beginningOf(text, 2_048), code })
}
