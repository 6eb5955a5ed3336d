/**
 * What a server offers: its tools as it lists them, checked and bounded, and whether it has resources and prompts.
 */
import { z } from 'zod'
import type { JsonObject } from '../../lib/json.ts'
import { exceedsDepth, isRecord } from '../../lib/json.ts'
import { scan } from '../context-files/scan.ts'
import { cleanJson, cleanText } from './names.ts'

const remoteTool = z.object({
  /** At the server. */
  name: z.string(),
  description: z.string(),
  inputSchema: z.record(z.string(), z.unknown()),
  /** The server declares that the tool changes nothing. */
  readOnly: z.boolean(),
})

export const catalogueSchema = z.object({
  tools: z.array(remoteTool),
  resources: z.boolean(),
  prompts: z.boolean(),
  /** What was left out or looks wrong, for the owner. */
  problems: z.array(z.string()),
})

export type RemoteTool = z.output<typeof remoteTool>
export type ServerCatalogue = z.output<typeof catalogueSchema>

const maxTools = 1_000
const maxToolNameChars = 128
const maxDescriptionChars = 2_048
const maxSchemaChars = 16_384
const maxSchemaDepth = 20
const maxProblems = 10

/** Never throws. `listed` are the tools as the server sent them. */
export function checkTools(listed: readonly unknown[]): Pick<ServerCatalogue, 'tools' | 'problems'> {
  const tools = new Map<string, RemoteTool>()
  const problems: string[] = []
  for (const entry of listed.slice(0, maxTools)) {
    const tool = toRemoteTool(entry)
    if (typeof tool === 'string') problems.push(tool)
    else if (tools.has(tool.name)) problems.push(`it lists the tool ${JSON.stringify(tool.name)} twice`)
    else {
      tools.set(tool.name, tool)
      problems.push(...suspicionsOf(tool))
    }
  }
  if (listed.length > maxTools) problems.push(`it lists ${listed.length} tools; the first ${maxTools} are read`)
  const shown = problems.slice(0, maxProblems)
  if (problems.length > maxProblems) shown.push(`and ${problems.length - maxProblems} more problems`)
  return { tools: [...tools.values()], problems: shown }
}

/** The tool, or why it cannot be one. */
function toRemoteTool(value: unknown): RemoteTool | string {
  if (!isRecord(value)) return 'it lists a tool that is no object'
  const { name, description, title, annotations } = value
  if (typeof name !== 'string' || name.length > maxToolNameChars || !/^[\w./: -]+$/.test(name)) {
    const shown = JSON.stringify(cleanText(String(name), 40))
    return `it lists a tool with an illegal name: ${shown}`
  }
  const hints = isRecord(annotations) ? annotations : {}
  const text = [description, title, hints['title']].find((title) => typeof title === 'string' && title.trim() !== '')
  return {
    name,
    description: cleanText(typeof text === 'string' ? text : name, maxDescriptionChars).trim(),
    inputSchema: toInputSchema(value['inputSchema']),
    readOnly: hints['readOnlyHint'] === true && hints['destructiveHint'] !== true,
  }
}

/** Any arguments where the schema cannot be used: the server checks them all the same. */
const anyArguments: JsonObject = { type: 'object', properties: {}, additionalProperties: true }

function toInputSchema(value: unknown): JsonObject {
  if (!isRecord(value) || exceedsDepth(value, maxSchemaDepth)) return anyArguments
  const cleaned = cleanJson(value)
  if (!isRecord(cleaned) || JSON.stringify(cleaned).length > maxSchemaChars) return anyArguments
  const { $schema: _dialect, ...schema } = cleaned
  if (schema['type'] !== 'object') return anyArguments
  const { properties, additionalProperties } = schema
  // Arguments that are described elsewhere than in `properties` must not count as unknown.
  const isOpen = additionalProperties === undefined && (!isRecord(properties) || elsewhere.some((key) => key in schema))
  return {
    ...schema,
    ...(isRecord(properties) ? {} : { properties: {} }),
    ...(isOpen ? { additionalProperties: true } : {}),
  }
}

const elsewhere = ['$ref', 'allOf', 'anyOf', 'oneOf', 'patternProperties', 'if']

/** What looks like an instruction to the model. The tool is kept: calls of it are asked about like others. */
function suspicionsOf({ name, description }: RemoteTool): string[] {
  const findings = scan(description, 'all')
  return findings.length === 0
    ? []
    : [`the description of its tool ${name} looks like a prompt injection (${findings.join(', ')})`]
}
