/**
 * The answer of a sub-agent as JSON of a given form: the schema is checked before the sub-agent starts, and its answer when it
 * ends. An answer of another form gets one turn to correct it.
 */
import { z } from 'zod'
import { messageOf } from '../../lib/errors.ts'
import type { ChatMessage } from '../../message/transcript.ts'
import type { JsonObject } from '../models/provider.ts'
import { DelegationRefused, type SubagentResult } from '../tools/tool.ts'

export type OutputCheck = (text: string) => { readonly output: unknown } | { readonly problem: string }

const maxSchemaChars = 20_000

/** Their regular expressions come from a model and could take for ever. */
const refusedKeywords: ReadonlySet<string> = new Set(['pattern', 'patternProperties'])

/** Throws `DelegationRefused` for a schema that cannot be checked. */
export function createOutputCheck(schema: JsonObject): OutputCheck {
  const text = JSON.stringify(schema)
  if (text.length > maxSchemaChars)
    throw invalidSchema(`It has ${text.length} characters; ${maxSchemaChars} are permitted.`)
  const refused = findKeyword(schema)
  if (refused !== undefined) throw invalidSchema(`The keyword ${refused} is not supported; use enum or format.`)
  const type = parseSchema(schema)
  return (answer) => {
    const decoded = decodeAnswer(answer)
    if ('problem' in decoded) return decoded
    const parsed = type.safeParse(decoded.output)
    return parsed.success ? decoded : { problem: describeIssues(parsed.error) }
  }
}

function parseSchema(schema: JsonObject): z.ZodType {
  try {
    const type = z.fromJSONSchema(schema)
    // References are resolved with the first value.
    type.safeParse(null)
    return type
  } catch (error) {
    throw invalidSchema(messageOf(error).slice(0, 300))
  }
}

function invalidSchema(reason: string): DelegationRefused {
  return new DelegationRefused(
    'invalid_schema',
    `The output_schema is no usable JSON Schema. ${reason} None was started.`,
  )
}

function findKeyword(value: unknown, isMap = false): string | undefined {
  if (Array.isArray(value)) return value.map((one) => findKeyword(one)).find((found) => found !== undefined)
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, inner] of Object.entries(value)) {
    if (!isMap && refusedKeywords.has(key)) return key
    if (key === 'enum' || key === 'const') continue
    // The keys of `properties` are names, even when they look like keywords.
    const found = findKeyword(inner, !isMap && (key === 'properties' || key === '$defs' || key === 'definitions'))
    if (found !== undefined) return found
  }
  return undefined
}

/** Models write JSON alone, in a code fence, or within a text. */
function decodeAnswer(answer: string): ReturnType<OutputCheck> {
  const fenced = /```(?:json)?\s*\n([\s\S]*?)\n\s*```/i.exec(answer)?.[1]
  const inner = answer.slice(
    Math.max(0, answer.search(/[[{]/)),
    Math.max(answer.lastIndexOf('}'), answer.lastIndexOf(']')) + 1,
  )
  for (const text of [answer, fenced, inner]) {
    if (text === undefined || text.trim() === '') continue
    try {
      const output: unknown = JSON.parse(text)
      return { output }
    } catch {
      // The next reading may be JSON.
    }
  }
  return { problem: 'It is not JSON.' }
}

function describeIssues({ issues }: z.ZodError): string {
  return issues
    .slice(0, 5)
    .map(({ path, message }) => `${path.length === 0 ? 'the answer' : path.join('.')}: ${message}`)
    .join('; ')
    .slice(0, 1_000)
}

/** What the message of a sub-agent says about its answer. */
export function schemaRequest(schema: JsonObject): string {
  return `Answer with JSON alone, of this JSON Schema:\n${JSON.stringify(schema)}`
}

export function correctionMessage(problem: string): ChatMessage {
  return {
    role: 'user',
    content: `Your answer does not match the JSON Schema. ${problem} Answer once more, with the JSON alone.`,
  }
}

/** What the check says about an answer, for its result. */
export function checkedResult(
  check: OutputCheck | undefined,
  text: string,
): Pick<SubagentResult, 'schemaValid' | 'output'> {
  if (check === undefined) return {}
  const checked = check(text)
  return 'problem' in checked ? { schemaValid: false } : { schemaValid: true, output: checked.output }
}
