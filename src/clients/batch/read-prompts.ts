/**
 * Reads a file of prompts: one JSON object or JSON string a line. A line that cannot be used is reported and skipped.
 */
import { createHash } from 'node:crypto'
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { type JsonObject, parseJson } from '../../lib/json.ts'

export interface BatchPrompt {
  /** Its `id` in the file, or one made of its text and pictures. */
  readonly id: string
  /** From 1. */
  readonly line: number
  readonly text: string
  /** Added to the system prompt; '' for nothing. */
  readonly system: string
  /** Undefined: the configured ones. */
  readonly toolsets: readonly string[] | undefined
  /** Absolute paths of pictures. */
  readonly images: readonly string[]
  /** Copied into the result. */
  readonly metadata: JsonObject | undefined
  /** The hash of everything that the answer depends on. */
  readonly hash: string
}

export interface BrokenLine {
  /** From 1. */
  readonly line: number
  readonly reason: string
}

export interface PromptFile {
  readonly prompts: readonly BatchPrompt[]
  readonly broken: readonly BrokenLine[]
  /** Fields that have no meaning here. */
  readonly ignoredFields: readonly string[]
}

export interface PromptDefaults {
  /** For prompts without `system`. */
  readonly system: string
  /** For prompts without `toolsets`. */
  readonly toolsets: readonly string[] | undefined
}

const names = z.union([
  z.string().transform((text) =>
    text
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
  ),
  z.array(z.string().trim().min(1)),
])
const maxIdChars = 200
const idSchema = z
  .union([z.string(), z.int().transform(String)])
  .refine((id) => id.length > 0 && id.length <= maxIdChars && !/\p{Cc}/u.test(id), {
    error: `expected 1 to ${maxIdChars} characters without line breaks`,
  })
const lineSchema = z.looseObject({
  prompt: z.string().refine((text) => text.trim() !== '', { error: 'it is empty' }),
  id: idSchema.optional(),
  system: z.string().optional(),
  toolsets: names.optional(),
  image: z.union([z.string().transform((path) => [path]), z.array(z.string())]).optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
})

/** Fields of Hermes that change where a prompt runs. To ignore them would give wrong results. */
const refusedFields = ['docker_image', 'cwd'] as const

/** @param path of the file; relative paths of pictures begin at its directory */
export function parsePrompts(content: Uint8Array, path: string, defaults: PromptDefaults): PromptFile {
  const prompts: BatchPrompt[] = []
  const broken: BrokenLine[] = []
  const ignored = new Set<string>()
  const lines = new Map<string, number>()
  const sameTexts = new Map<string, number>()
  let number = 0
  for (const bytes of splitLines(content)) {
    number += 1
    const parsed = parseLine(bytes, number === 1)
    if (parsed === undefined) continue
    if ('reason' in parsed) {
      broken.push({ line: number, reason: parsed.reason })
      continue
    }
    const {
      prompt: text,
      id: given,
      system: ownSystem,
      toolsets: toolsetNames,
      image: pictures,
      metadata,
      ...others
    } = parsed.value
    for (const field of Object.keys(others)) ignored.add(field)
    const system = (ownSystem ?? defaults.system).trim()
    const toolsets = toolsetNames ?? defaults.toolsets
    const images = (pictures ?? []).map((picture) => resolve(dirname(path), picture))
    const id = given ?? numbered(`p-${digest([text, images])}`, sameTexts)
    const earlier = lines.get(id)
    if (earlier !== undefined) {
      broken.push({ line: number, reason: `line ${earlier} has the id ${JSON.stringify(id)}, too` })
      continue
    }
    lines.set(id, number)
    const hash = digest([text, system, toolsets ?? null, images])
    prompts.push({ id, line: number, text, system, toolsets, images, metadata, hash })
  }
  return { prompts, broken, ignoredFields: [...ignored].sort() }
}

type Parsed = { readonly value: z.output<typeof lineSchema> } | { readonly reason: string } | undefined

/** Undefined for an empty line. */
function parseLine(bytes: Uint8Array, isFirst: boolean): Parsed {
  const text = decodeUtf8(bytes, isFirst)
  if (text === undefined) return { reason: 'it is not UTF-8 text' }
  if (text.trim() === '') return undefined
  const value = parseJson(text)
  if (value === undefined) return { reason: 'it is not JSON' }
  const line = lineSchema.safeParse(typeof value === 'string' ? { prompt: value } : value)
  if (!line.success) return { reason: describeIssue(line.error) }
  const refused = refusedFields.find((field) => line.data[field] !== undefined)
  if (refused === undefined) return { value: line.data }
  return { reason: `${refused}: all prompts of a batch run in the configured place` }
}

function describeIssue({ issues }: z.ZodError): string {
  const [first] = issues
  if (first === undefined) return 'it cannot be used'
  if (first.path.length === 0) return 'expected an object with `prompt`, or a string'
  return `${first.path.join('.')}: ${first.message}`
}

/** The byte order mark of a file is dropped. Undefined for invalid bytes. */
function decodeUtf8(bytes: Uint8Array, isFirst: boolean): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: !isFirst }).decode(bytes)
  } catch {
    return undefined
  }
}

const lineFeed = 10

function* splitLines(content: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < content.length; ) {
    const end = content.indexOf(lineFeed, start)
    yield content.subarray(start, end === -1 ? content.length : end)
    start = end === -1 ? content.length : end + 1
  }
}

/** Equal texts are prompts of their own: the second one gets `-2`. */
function numbered(id: string, counts: Map<string, number>): string {
  const count = (counts.get(id) ?? 0) + 1
  counts.set(id, count)
  return count === 1 ? id : `${id}-${count}`
}

function digest(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16)
}
