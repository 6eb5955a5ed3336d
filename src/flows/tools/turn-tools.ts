/**
 * The tools of a turn: the loaded ones as the agent loop uses them, limited to what the person who caused the turn may use.
 */
import type { AgentConfig } from '../../agent/config.ts'
import type { AgentTools } from '../../agent/loop/agent-tools.ts'
import type { Ceiling } from '../../agent/loop/role-ceiling.ts'
import type { ToolSchema } from '../../agent/models/provider.ts'
import type { Sandbox } from '../../agent/sandbox/sandbox.ts'
import { toErrorJson, truncateMiddle } from '../../agent/support/result-json.ts'
import { planBatch } from '../../agent/tools/parallel.ts'
import type { LoadedTools, ParsedToolCall } from '../../agent/tools/registry.ts'
import type { CallingTurn, ToolContext, TurnKind } from '../../agent/tools/tool.ts'
import { createLruCache, createMemo } from '../../lib/cache.ts'
import { toVisibleText } from '../../lib/visible-text.ts'
import type { Authority } from '../../message/authority.ts'
import { isAttended, type MessageEvent, mayBeAsked } from '../../message/event.ts'
import type { RoleSettings } from '../../platforms/config.ts'
import type { ResultFiles } from './result-files.ts'

/** The tools without the ceiling of a role. */
export interface OpenTools extends Pick<LoadedTools, 'resolve'> {
  readonly tools: AgentTools
}

type TurnToolSettings = Pick<AgentConfig, 'agent' | 'terminal'> & { readonly roles: RoleSettings }

/** A sub-agent in the background works for the conversation of its parent. */
export function conversationTurnOf({ event, id }: CallingTurn): string {
  return event?.task?.delegation?.turnId ?? id
}

/** What the configuration permits to this role in this chat. */
export function toolListOf(roles: RoleSettings, authority: Authority): readonly string[] {
  const { chats } = roles
  const { role, platform, chatType, chatId, parentChatId } = authority
  const roleTools = chats[`${platform}:${chatId}`]?.[role] ?? chats[`${platform}:${parentChatId}`]?.[role]
  return roleTools ?? roles[role][chatType === 'dm' ? 'tools' : 'group_tools']
}

/** The loaded tools as the agent loop uses them. */
export function createAgentTools(
  loaded: LoadedTools,
  {
    redact,
    settings,
    resultFiles,
  }: {
    /** Takes the gateway's own secrets out of the results of tools. */
    redact(text: string): string
    readonly settings: () => TurnToolSettings
    /** Results that are too long for the model. Absent: none are stored. */
    readonly resultFiles?: Pick<ResultFiles, 'shorten'> | undefined
  },
  { sandbox }: { sandbox(): Promise<Sandbox | undefined> },
): AgentTools {
  const factsOf = (name: string) => loaded.resolve(name)?.facts
  const offered = createMemo<readonly ToolSchema[]>(1)
  const run = async (call: ParsedToolCall, context: ToolContext): Promise<string> => {
    if (!(await mayRunWithoutSandbox(call, settings(), context.turn.authority, sandbox)))
      return toErrorJson({ code: 'sandbox_required', reason: sandboxRequired })
    if (call.facts.machine === 'runs-commands' && (await isNetworkOpen(settings(), sandbox)))
      return toErrorJson({ code: 'sandbox_required', reason: networkOpen })
    return call.run(context)
  }
  return {
    schemas() {
      const all = loaded.schemas()
      return offered([all], '', () => withoutLoneDelegation(all, factsOf))
    },
    factsOf,
    canRunInParallel: (calls) => planBatch(calls, factsOf) === 'parallel',
    prepare(call) {
      const parsed = loaded.parse(call.name, call.arguments)
      if (!parsed.ok) return { kind: 'invalid', error: parsed.error }
      const { call: ready } = parsed
      return {
        ...ready,
        kind: 'ready',
        // A key in the output of a command or in a file must not travel to the model's vendor.
        run: async (context) => {
          const shown = showHidden(ready, redact(await run(ready, context)))
          const { turn, callId, limits } = context
          const isStored = shown.length > limits.maxResultChars && limits.maxStoredChars !== undefined
          if (!isStored || resultFiles === undefined) return shown
          return await resultFiles.shorten({ turnId: conversationTurnOf(turn), callId }, shown, limits.maxResultChars)
        },
      }
    },
    sanitizeForModel: (result) => truncateMiddle(redact(result), settings().agent.max_tool_result_chars),
  }
}

/** What a file contains stays exact, so that a patch of it matches. The result is JSON, or the text of a plugin. */
function showHidden({ facts }: ParsedToolCall, result: string): string {
  return facts.toolset === 'file' ? result : toVisibleText(result, { keepsMarks: true, asJson: true })
}

const sandboxRequired =
  'Refused: there is no sandbox on this machine, and without one only its owner may run commands and write files.'

const networkOpen =
  'Refused: terminal.sandbox_network limits the network of commands, and no sandbox on this machine can. hermes doctor says what was tried.'

/** The network is limited by the configuration, and the sandbox for it does not work. With `sandbox: off` the owner has decided. */
async function isNetworkOpen(
  { terminal: { sandbox_network: network } }: TurnToolSettings,
  sandbox: () => Promise<Sandbox | undefined>,
): Promise<boolean> {
  return network !== 'on' && network !== true && (await sandbox())?.kind === 'none'
}

/** Without a sandbox only owners reach the machine. With `sandbox: off` they may name tools that others get all the same. */
async function mayRunWithoutSandbox(
  { facts: { name, toolset, machine } }: ParsedToolCall,
  { roles, terminal }: TurnToolSettings,
  authority: Authority,
  sandbox: () => Promise<Sandbox | undefined>,
): Promise<boolean> {
  if (authority.role === 'owner' || machine === undefined) return true
  const opened = await sandbox()
  if (opened !== undefined && opened.kind !== 'none') return true
  const list = toolListOf(roles, authority)
  return terminal.sandbox === 'off' && (list.includes(name) || list.includes(toolset))
}

/** Without the tools that have no use in this turn: no user answers a background task, for example. */
export function withoutUseless(tools: AgentTools, kinds: readonly TurnKind[]): AgentTools {
  if (kinds.length === 0) return tools
  /** For the model. */
  const reasonOf = (name: string) => {
    const { uselessIn } = tools.factsOf(name) ?? {}
    return kinds.map((kind) => uselessIn?.[kind]).find((reason) => reason !== undefined)
  }
  return {
    ...tools,
    schemas: () => tools.schemas().filter(({ name }) => reasonOf(name) === undefined),
    prepare(call) {
      const error = reasonOf(call.name)
      return error === undefined ? tools.prepare(call) : { kind: 'invalid', error }
    },
  }
}

/** What kinds of turn this one is. */
export function turnKindsOf(
  event: MessageEvent | undefined,
  { cron }: { readonly cron: { readonly allow_agent_scheduling: boolean } },
): readonly TurnKind[] {
  if (event === undefined) return []
  const isUnattended = !isAttended(event)
  return [
    ...(isUnattended ? (['unattended'] as const) : []),
    ...(isUnattended && !mayBeAsked(event) ? (['unanswerable'] as const) : []),
    ...(event.task === undefined ? [] : (['background'] as const)),
    ...(event.task?.route === 'cron' && !cron.allow_agent_scheduling ? (['scheduled'] as const) : []),
  ]
}

/** With every other tool disabled, sub-agents could do nothing. */
function withoutLoneDelegation(schemas: readonly ToolSchema[], factsOf: AgentTools['factsOf']): readonly ToolSchema[] {
  const actors = schemas.flatMap(({ name }) => {
    const facts = factsOf(name) ?? { name, toolset: '' }
    return facts.servesOthers === true ? [] : [facts]
  })
  if (actors.length === 0) return []
  const isOfNoUse = actors.every(({ isWithheldFromSubagents }) => isWithheldFromSubagents === true)
  return isOfNoUse ? schemas.filter(({ name }) => name !== 'delegate_task') : schemas
}

/** Sessions whose list is remembered. For the others it is made again from the stored names. */
const maxSessions = 10_000

/** What a session is offered. */
interface SessionTools {
  readonly sessionId: string
  /** Stored with the session. Undefined in a new session, and in one of an earlier version. */
  readonly toolNames: readonly string[] | undefined
  /** What a new session is offered. */
  select(): Promise<readonly ToolSchema[]>
}

/**
 * A session is offered the tools with which it began, also after a restart: another list would change the beginning of every
 * prompt, which the vendor has cached. A call by name uses the current tools.
 */
export function createSessionToolSnapshots(): (session: SessionTools, tools: AgentTools) => Promise<AgentTools> {
  const offered = createLruCache<readonly ToolSchema[]>(maxSessions)
  return async ({ sessionId, toolNames, select }, tools) => {
    let schemas = offered.get(sessionId)
    if (schemas === undefined) {
      schemas = toolNames === undefined ? await select() : onlyNamed(tools, new Set(toolNames))
      // A plugin may not have registered its tools yet.
      if (toolNames === undefined || toolNames.length === schemas.length) offered.set(sessionId, schemas)
    }
    return schemas === tools.schemas() ? tools : withSchemas(tools, schemas)
  }
}

function onlyNamed(tools: AgentTools, names: ReadonlySet<string>): readonly ToolSchema[] {
  const all = tools.schemas()
  const named = all.filter(({ name }) => names.has(name))
  const useful = names.has('delegate_task') ? withoutLoneDelegation(named, tools.factsOf) : named
  return useful.length === all.length ? all : useful
}

function withSchemas(tools: AgentTools, schemas: readonly ToolSchema[]): AgentTools {
  const isOffered = (name: string) => schemas.some((schema) => schema.name === name)
  return {
    ...tools,
    schemas: () => schemas,
    prepare(call) {
      if (isOffered(call.name)) return tools.prepare(call)
      const names = schemas.map(({ name }) => name).join(', ')
      return { kind: 'invalid', error: `There is no tool ${JSON.stringify(call.name)}. There are: ${names}.` }
    },
  }
}

/** What decides about the tools of a new session, besides the configuration. */
interface ToolRequest {
  readonly authority: Pick<Authority, 'platform'>
  /** Its first message, which may name toolsets. */
  readonly event: Pick<MessageEvent, 'toolsets'> | undefined
  /** The toolsets that platforms declare, by the name of the platform. */
  readonly declared: ReadonlyMap<string, string>
}

type SelectionSettings = Pick<AgentConfig, 'toolsets' | 'platform_toolsets' | 'custom_toolsets'>

/** Different lists of toolsets. A message may name its own. */
const maxSelections = 64

/** Selects the tools of new sessions: once for each list of toolsets, for as long as the tools and the configuration are the same. */
export function createToolSelection() {
  const selections = createMemo<Promise<readonly ToolSchema[]>>(maxSelections)
  return (settings: SelectionSettings, open: OpenTools, request: ToolRequest): Promise<readonly ToolSchema[]> => {
    const list = toolsetsOf(settings, request)
    const { custom_toolsets: custom } = settings
    return selections([open.tools.schemas(), custom], JSON.stringify(list), () =>
      selectSessionTools(open, list, custom),
    )
  }
}

function toolsetsOf(
  { toolsets, platform_toolsets }: SelectionSettings,
  { authority: { platform }, event, declared }: ToolRequest,
): readonly string[] {
  const configured = Object.hasOwn(platform_toolsets, platform) ? platform_toolsets[platform] : undefined
  const platformToolset = declared.get(platform)
  return event?.toolsets ?? configured ?? (platformToolset === undefined ? toolsets : [platformToolset])
}

async function selectSessionTools(
  { tools, resolve }: OpenTools,
  list: readonly string[],
  custom: SelectionSettings['custom_toolsets'],
): Promise<readonly ToolSchema[]> {
  const schemas = tools.schemas()
  const all = schemas.map(({ name }) => resolve(name)?.facts ?? { name, toolset: '' })
  if (list.length === 1 && list[0] === 'all' && !all.some(({ isOptional }) => isOptional)) return schemas
  const { selectTools } = await import('../../agent/toolsets/select-tools.ts')
  const selected = selectTools(list, all, custom)
  const hasAll = (names: readonly string[]) => names.every((name) => selected.has(name))
  return onlyNamed(tools, new Set([...selected].filter((name) => hasAll(resolve(name)?.facts.requires ?? []))))
}

/** Lists of tools whose toolsets are remembered. The people of a chat may have different ones. */
const maxToolsetLists = 64

/** Finds the toolsets of which a session with these tools has one. */
export function createToolsetFinder() {
  const toolsets = createMemo<Promise<ReadonlySet<string>>>(maxToolsetLists)
  return (
    { tools, resolve }: OpenTools,
    names: readonly string[],
    custom: SelectionSettings['custom_toolsets'],
  ): Promise<ReadonlySet<string>> =>
    toolsets([tools.schemas(), custom], names.join(), async () => {
      const { availableToolsets } = await import('../../agent/toolsets/available-toolsets.ts')
      const offered = names.map((name) => ({ name, toolset: resolve(name)?.facts.toolset ?? '' }))
      return availableToolsets(offered, custom)
    })
}

/** Without the tools that the role of the person may not use. */
export async function belowCeiling(
  tools: AgentTools,
  resolve: OpenTools['resolve'],
  ceiling: Ceiling,
): Promise<AgentTools> {
  if (ceiling.list.every((entry) => entry === '*') && ceiling.list.length > 0) return tools
  const { withCeiling } = await import('../../agent/loop/role-ceiling.ts')
  return withCeiling(tools, resolve, ceiling)
}
