/**
 * Questions of MCP servers to the person of a call (MCP, elicitation): each field of the form becomes a question of `clarify`. What
 * a person does not answer, or where none waits, is declined.
 */
import type { ElicitRequest, ElicitResult } from '@modelcontextprotocol/client'
import { asArray, asRecord, asString, isRecord } from '../../lib/json.ts'
import type { Logger } from '../../lib/log.ts'
import type { AskUser, UserResponse } from '../tools/clarify.ts'
import { cleanText } from './names.ts'

export type AnswerElicitation = (params: ElicitRequest['params'], signal: AbortSignal) => Promise<ElicitResult>

type Value = string | number | boolean | string[]

interface Field {
  readonly name: string
  readonly isRequired: boolean
  /** For people. */
  readonly label: string
  /** What people choose, and what it stands for; empty for a free answer. */
  readonly choices: ReadonlyMap<string, Value>
  readonly multiSelect: boolean
  /** The value of an answer; undefined if it cannot be one. */
  read(answer: string): Value | undefined
}

const maxFields = 8
const maxChoices = 20
const maxTextChars = 500
const maxAnswerChars = 4_000
const maxTries = 2
const decline = 'Decline'
const skip = 'Skip'
const declined = { action: 'decline' } as const

/**
 * Resolves with the answer for the server, or rejects with the reason of the signal.
 *
 * @param ask asks the person of the only running call; undefined where it is unknown who is meant, or where no one waits
 */
export async function answerElicitation(
  server: string,
  ask: AskUser | undefined,
  log: Logger,
  params: ElicitRequest['params'],
  signal: AbortSignal,
): Promise<ElicitResult> {
  const { message, mode, requestedSchema } = asRecord(params)
  const fields = mode === 'url' ? undefined : readFields(requestedSchema)
  if (ask === undefined || fields === undefined) {
    log.info({ event: 'mcp.elicitation_declined', server, unattended: ask === undefined }, 'a question was declined')
    return declined
  }
  const about = `The MCP server ${server} asks: ${cleanText(asString(message), maxTextChars)}`
  const content: Record<string, Value> = {}
  if (fields.length === 0) {
    const answer = await ask({ question: about, choices: ['Accept', decline], multiSelect: false }, signal)
    return textsOf(answer)[0]?.toLowerCase() === 'accept' ? { action: 'accept', content } : endOf(answer)
  }
  for (const field of fields) {
    const answer = await askField(ask, about, field, signal)
    if ('action' in answer) return answer
    if (answer.value !== undefined) content[field.name] = answer.value
  }
  return { action: 'accept', content }
}

async function askField(
  ask: AskUser,
  about: string,
  field: Field,
  signal: AbortSignal,
): Promise<ElicitResult | { readonly value: Value | undefined }> {
  const { label, isRequired, choices, multiSelect } = field
  const offered = [...choices.keys(), ...(isRequired ? [] : [skip]), decline]
  for (let attempt = 1; attempt <= maxTries; attempt += 1) {
    const again = attempt === 1 ? '' : '\nThe answer before cannot be used.'
    const answer = await ask({ question: `${about}\n${label}${again}`, choices: offered, multiSelect }, signal)
    const texts = textsOf(answer)
    if (texts.length === 0 || texts.includes(decline)) return endOf(answer)
    if (!isRequired && texts.includes(skip)) return { value: undefined }
    const values = texts.map((text) => (choices.size === 0 ? field.read(text) : choices.get(text)))
    if (multiSelect) {
      const strings = values.filter((value) => typeof value === 'string')
      if (strings.length === values.length) return { value: strings }
    } else if (values.length === 1 && values[0] !== undefined) return { value: values[0] }
  }
  return declined
}

function textsOf(answer: UserResponse): readonly string[] {
  if (answer.kind !== 'answered') return []
  return typeof answer.response === 'string' ? [answer.response.slice(0, maxAnswerChars)] : answer.response
}

/** `cancel`: the person has neither accepted nor declined. */
function endOf({ kind }: UserResponse): ElicitResult {
  return kind === 'unanswered' ? { action: 'cancel' } : declined
}

/** Undefined for a form that cannot be asked for in questions. */
function readFields(schema: unknown): readonly Field[] | undefined {
  const { properties, required } = asRecord(schema)
  const names = new Set(asArray(required))
  const entries = Object.entries(asRecord(properties))
  if (entries.length > maxFields) return undefined
  const fields = entries.map(([name, about]) => readField(name, asRecord(about), names.has(name)))
  return fields.every((field) => field !== undefined) ? fields : undefined
}

function readField(name: string, about: Readonly<Record<string, unknown>>, isRequired: boolean): Field | undefined {
  const { type, title, description } = about
  const label = [title ?? name, description].map((text) => cleanText(asString(text), maxTextChars)).filter(Boolean)
  const common = { name, isRequired, label: label.join(': '), multiSelect: type === 'array' }
  const free = { ...common, choices: new Map<string, Value>() }
  switch (type) {
    case 'boolean':
      return withChoices(common, [
        ['Yes', true],
        ['No', false],
      ])
    case 'number':
    case 'integer':
      return { ...free, read: (answer) => readNumber(answer, type) }
    case 'array':
      return withChoices(common, choicesOf(asRecord(about['items'])))
    case 'string': {
      const choices = choicesOf(about)
      return choices.length > 0 ? withChoices(common, choices) : { ...free, read: (answer) => answer }
    }
    default:
      return undefined
  }
}

function withChoices(
  common: Pick<Field, 'name' | 'isRequired' | 'label' | 'multiSelect'>,
  choices: readonly (readonly [string, Value])[],
): Field | undefined {
  if (choices.length === 0 || choices.length > maxChoices) return undefined
  return { ...common, choices: new Map(choices), read: () => undefined }
}

/** The names of the values: `enum` with `enumNames`, or `oneOf` and `anyOf` with titles. */
function choicesOf(about: Readonly<Record<string, unknown>>): readonly (readonly [string, string])[] {
  const named = asArray(about['oneOf'] ?? about['anyOf']).filter(isRecord)
  if (named.length > 0)
    return named.map(({ const: value, title }) => [toChoice(asString(title) || asString(value)), asString(value)])
  const names = asArray(about['enumNames'])
  return asArray(about['enum']).map((value, index) => [
    toChoice(asString(names[index]) || asString(value)),
    asString(value),
  ])
}

function toChoice(text: string): string {
  return cleanText(text, 100)
}

function readNumber(answer: string, type: 'number' | 'integer'): number | undefined {
  const value = Number(answer.trim() === '' ? Number.NaN : answer)
  return Number.isFinite(value) && (type === 'number' || Number.isInteger(value)) ? value : undefined
}
