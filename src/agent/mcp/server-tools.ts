/**
 * The tools of one MCP server as tools of the agent (contract agent.md S13): `mcp_<server>_<tool>`, and its resources and prompts.
 */
import { z } from 'zod'
import { asArray, asRecord, asString, type JsonObject } from '../../lib/json.ts'
import type { Authority } from '../../message/authority.ts'
import { storedCharsOf, toErrorJson, toResultJson } from '../support/result-json.ts'
import type { QuestionPort } from '../tools/clarify.ts'
import type { ApprovalNeed, ToolContext, ToolDefinition } from '../tools/tool.ts'
import type { RemoteTool, ServerCatalogue } from './catalogue.ts'
import type { McpServerConfig } from './config.ts'
import type { ServerConnection, ServerRequest } from './connection.ts'
import { McpServerError } from './mcp-server-error.ts'
import { cleanText, matchesGlob, ownerOfName, toolNameOf, toolsetOfServer } from './names.ts'
import { hasPictures, type StorePicture, showResultPictures } from './result-pictures.ts'
import { contentText, resourceText, toolResultJson } from './result-text.ts'

export interface ServerToolsDeps {
  readonly server: string
  readonly settings: McpServerConfig
  readonly catalogue: ServerCatalogue
  readonly connection: Pick<ServerConnection, 'request'>
  /** The names of all enabled servers, in the order of the configuration. */
  readonly servers: readonly string[]
  /** Absent: pictures in results are described only. */
  readonly storePicture?: StorePicture | undefined
  /** Asks the user of the turn; undefined where there is none. */
  readonly askUserOf?: QuestionPort['askUserOf']
  /** Why this person may not use the server; undefined if they may. */
  refuse?(authority: Authority): Promise<string | undefined>
}

/** A larger request is refused by some providers, and all of it is paid for with each message. */
const maxOfferedTools = 100

export function createServerTools(deps: ServerToolsDeps) {
  const { server, servers, settings, catalogue } = deps
  const selected = catalogue.tools.filter(({ name }) => isSelected(name, settings.tools))
  const problems = [...catalogue.problems, ...unmatchedEntries(deps)]
  if (selected.length > maxOfferedTools)
    problems.push(
      `it has ${selected.length} tools; the model gets the first ${maxOfferedTools}: choose with mcp_servers.${server}.tools.include`,
    )
  /** Each name once. */
  const definitions = new Map<string, ToolDefinition>()
  for (const tool of selected.slice(0, maxOfferedTools)) {
    const definition = toDefinition(deps, toServerTool(server, tool))
    if (definitions.has(definition.name))
      problems.push(`its tool ${tool.name} is left out, because another one becomes ${definition.name}, too`)
    else definitions.set(definition.name, definition)
  }
  for (const definition of utilityTools(deps))
    if (!definitions.has(definition.name)) definitions.set(definition.name, definition)
  const serverTools = [...definitions.values()].filter(({ name }) => ownerOfName(name, servers) === server)
  return { definitions: serverTools, problems: [...problems, ...foreignNames(deps, [...definitions.keys()])] }
}

/** Names that belong to another server, a sentence for each of them. */
function foreignNames({ server, servers }: ServerToolsDeps, names: readonly string[]): string[] {
  const byOwner = Map.groupBy(names, (name) => ownerOfName(name, servers) ?? server)
  byOwner.delete(server)
  return [...byOwner].map(
    ([owner, left]) =>
      `left out, because the names belong to the server ${owner}: ${left.join(', ')}; rename one of the servers`,
  )
}

function isSelected(name: string, { include, exclude }: McpServerConfig['tools']): boolean {
  if (include.length > 0) return include.some((pattern) => matchesGlob(pattern, name))
  return !exclude.some((pattern) => matchesGlob(pattern, name))
}

/** What is meant to be offered, or left out, and does not exist under this name. */
function unmatchedEntries({ server, settings: { tools }, catalogue }: ServerToolsDeps): string[] {
  const key = tools.include.length > 0 ? 'include' : 'exclude'
  return tools[key]
    .filter((pattern) => !catalogue.tools.some(({ name }) => matchesGlob(pattern, name)))
    .map((pattern) => `mcp_servers.${server}.tools.${key}: it has no tool ${JSON.stringify(pattern)}`)
}

/** A tool of the agent that sends one request to the server. */
interface ServerTool<Schema extends z.ZodObject> {
  readonly name: string
  readonly description: string
  readonly parameters: Schema
  readonly jsonSchema?: JsonObject
  readonly label?: (args: z.output<Schema>) => string
  /** What only reads needs an approval where every call does. */
  readonly readOnly: boolean
  request(args: z.output<Schema>): ServerRequest
  toJson(result: unknown, maxChars: number): string
}

function toDefinition<Schema extends z.ZodObject>(
  deps: ServerToolsDeps,
  { name: remoteName, description, parameters, jsonSchema, label, readOnly, request, toJson }: ServerTool<Schema>,
): ToolDefinition<Schema> {
  const { server, settings } = deps
  const name = toolNameOf(server, remoteName)
  const asks = settings.approval === 'always' || (settings.approval === 'auto' && !readOnly)
  return {
    name,
    toolset: toolsetOfServer(server),
    description,
    parameters,
    ...(jsonSchema && { jsonSchema }),
    ...(label && { label }),
    // A hint of the server decides neither what guests may use nor what runs twice.
    mode: 'effect',
    runsInParallel: settings.supports_parallel_tool_calls && !asks,
    ...(asks && { approval: () => approvalNeed(server, name, remoteName) }),
    run: (args, context) =>
      asks && context.isApproved !== true
        ? Promise.resolve(notApproved(name))
        : answer(deps, context, request(args), toJson),
  }
}

function toServerTool(server: string, { name, description, inputSchema, readOnly }: RemoteTool) {
  return {
    name,
    description: `${description} (MCP server ${server})`,
    parameters: z.looseObject({}),
    jsonSchema: inputSchema,
    readOnly,
    request: (args: object) => ({ method: 'tools/call' as const, params: { name, arguments: args } }),
    toJson: toolResultJson,
  }
}

function approvalNeed(server: string, name: string, remoteName: string): ApprovalNeed {
  return {
    source: 'policy',
    ruleKey: 'mcp-tool',
    reason: `The tool ${remoteName} of the MCP server ${server} may change something.`,
    place: `the MCP server ${server}`,
    remember: 'always',
    shape: name,
  }
}

function notApproved(name: string): string {
  return toErrorJson({ code: 'approval_required', reason: `A user must allow ${name} first. It was not run.` })
}

/** Never rejects with `McpServerError`: the model is told. */
async function answer(
  { connection, storePicture, refuse, askUserOf }: ServerToolsDeps,
  context: ToolContext,
  request: ServerRequest,
  toJson: (result: unknown, maxChars: number) => string,
): Promise<string> {
  const { turn, signal, limits, loop } = context
  const refusal = await refuse?.(turn.authority)
  if (refusal !== undefined) return toErrorJson({ code: 'sandbox_required', reason: refusal })
  try {
    const result = await connection.request(request, signal, askUserOf?.(context))
    const showPicture = loop?.showPicture
    const canShow = storePicture !== undefined && showPicture !== undefined && hasPictures(result)
    const shown = canShow ? await showResultPictures(result, storePicture, showPicture) : result
    return toJson(shown, storedCharsOf(limits))
  } catch (error) {
    if (!(error instanceof McpServerError)) throw error
    return toErrorJson({ code: error.code, reason: error.message })
  }
}

const cursor = z.string().optional().describe('next_cursor of the page before')

function utilityTools(deps: ServerToolsDeps): readonly ToolDefinition[] {
  const { settings, catalogue } = deps
  return [
    ...(catalogue.resources && settings.tools.resources ? resourceTools(deps) : []),
    ...(catalogue.prompts && settings.tools.prompts ? promptTools(deps) : []),
  ]
}

function listTool(deps: ServerToolsDeps, what: 'resources' | 'prompts', fields: readonly string[]): ToolDefinition {
  return toDefinition(deps, {
    name: `list_${what}`,
    description: `List the ${what} of the MCP server ${deps.server}.`,
    readOnly: true,
    parameters: z.object({ cursor }),
    request: (params) => ({ method: `${what}/list`, params }),
    toJson: listJson(what, fields),
  })
}

function resourceTools(deps: ServerToolsDeps) {
  return [
    listTool(deps, 'resources', ['uri', 'name', 'description', 'mimeType']),
    toDefinition(deps, {
      name: 'read_resource',
      description: `Read a resource of the MCP server ${deps.server}.`,
      readOnly: true,
      parameters: z.object({ uri: z.string() }),
      label: ({ uri }) => uri,
      request: (params) => ({ method: 'resources/read', params }),
      toJson(result, maxChars) {
        const contents = asArray(asRecord(result)['contents']).map((content) => ({
          type: 'resource',
          resource: content,
        }))
        const text = contentText(contents.map(({ resource }) => ({ type: 'text', text: resourceText(resource) })))
        return toResultJson({ result: text }, maxChars, 'result')
      },
    }),
  ]
}

function promptTools(deps: ServerToolsDeps) {
  return [
    listTool(deps, 'prompts', ['name', 'description', 'arguments']),
    toDefinition(deps, {
      name: 'get_prompt',
      description: `Read a prompt of the MCP server ${deps.server}.`,
      readOnly: true,
      parameters: z.object({ name: z.string(), arguments: z.record(z.string(), z.string()).optional() }),
      label: ({ name }) => name,
      request: (params) => ({ method: 'prompts/get', params }),
      toJson(result, maxChars) {
        const messages = asArray(asRecord(result)['messages']).map(asRecord)
        const texts = messages.map(({ role, content }) => `${asString(role)}: ${contentText([content])}`)
        return toResultJson({ result: texts.join('\n\n') }, maxChars, 'result')
      },
    }),
  ]
}

const maxListed = 200
const maxFieldChars = 500

/** The entries of a list with these fields. */
function listJson(key: string, fields: readonly string[]) {
  return (result: unknown, maxChars: number): string => {
    const { [key]: list, nextCursor } = asRecord(result)
    const entries = asArray(list)
      .slice(0, maxListed)
      .map((entry) => pick(asRecord(entry), fields))
    const lines = entries.map((entry) => JSON.stringify(entry)).join('\n')
    const next = typeof nextCursor === 'string' ? { next_cursor: cleanText(nextCursor, maxFieldChars) } : {}
    return toResultJson({ result: lines, ...next }, maxChars, 'result')
  }
}

function pick(entry: Readonly<Record<string, unknown>>, fields: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    fields.flatMap((field) => {
      const value = entry[field]
      if (value === undefined) return []
      return [[field, cleanText(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''), maxFieldChars)]]
    }),
  )
}
