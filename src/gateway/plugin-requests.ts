/**
 * What plugins ask of a running gateway: an answer of the model, a tool, a message in a conversation.
 */
import { type CompletionDeps, complete } from '../agent/completion.ts'
import type { Agent } from '../agent/conversation.ts'
import type { AgentWatcher, Journal } from '../agent/journal.ts'
import { runManagedTool, type ToolDeps } from '../agent/managed-tool.ts'
import type { TurnFacts } from '../agent/points.ts'
import type { RequestInput } from '../agent/provider.ts'
import type { TurnAround } from '../agent/turn-scopes.ts'
import type { Inbox } from '../inbox/inbox.ts'
import { brand } from '../lib/brand.ts'
import { HermesError, messageOf } from '../lib/errors.ts'
import { uuid7 } from '../lib/ids.ts'
import type { EventKey, SessionId, TurnId } from '../message/ids.ts'
import type { SessionSource } from '../message/source.ts'
import type { ChatMessage } from '../message/transcript.ts'
import type { Fields } from '../middleware/contract.ts'
import type { PluginEntry } from '../plugins/config.ts'
import type { PluginServices } from '../plugins/context.ts'
import { createNesting } from '../plugins/nesting.ts'
import type { ChosenModel } from '../turn/facts.ts'
import type { AgentServices } from './agent-services.ts'

export interface PluginRequestsDeps
  extends Pick<ToolDeps, 'points' | 'approve' | 'refusal'>,
    Omit<CompletionDeps, 'maxRetries'> {
  readonly agents: Pick<AgentServices, 'model' | 'tools' | 'toolContext'>
  readonly inbox: Pick<Inbox, 'accept'>
  maxRetries(): number
  /** Who wrote last in a conversation, and may still write there; undefined where there is nobody. */
  writerIn(sessionKey: string): Promise<SessionSource | undefined>
  /** The conversation of a terminal with a gateway of its own; undefined elsewhere. */
  ownSession(): string | undefined
  /** The turn in which the caller is called; undefined outside of turns. */
  currentTurn: Agent['currentTurn']
  /** What the configuration says of a plugin. */
  entry(owner: string): PluginEntry
  /** Aborts when the gateway stops. */
  readonly ended: AbortSignal
}

type Requests = Pick<PluginServices, 'complete' | 'inject' | 'runTool'>

export function createPluginRequests(deps: PluginRequestsDeps): Requests {
  const { agents, inbox, log, clock, ended, entry } = deps
  const nested = createNesting()

  async function turnOfItsOwn(owner: string, id: string): Promise<TurnAround> {
    const turn = factsOf(owner, id, await agents.model().catch(() => undefined))
    const place = { sessionId: brand<SessionId>(turn.sessionId), id: brand<TurnId>(id), lines: [] }
    return {
      turn,
      tools: await agents.tools(turn.sessionId),
      approve: deps.approve,
      signal: ended,
      contextFor: (call) => agents.toolContext(place, call, ended),
    }
  }

  return {
    complete: (owner, prompt, options = {}) =>
      nested(owner, async () => {
        const chosen = await agents.model()
        const { model = chosen.model, system = '', maxOutputTokens, signal } = options
        if (model !== chosen.model && !entry(owner).llm.allow_model_override) {
          throw new HermesError('plugins/not-allowed', `(plugins.entries.${owner}.llm.allow_model_override)`)
        }
        const input: RequestInput = {
          ...conversationOf(prompt, system),
          model,
          tools: [],
          ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
        }
        const answer = await complete(deps, {
          provider: chosen.provider,
          input,
          turn: factsOf(owner, uuid7(clock()), { ...chosen, model }),
          signal: AbortSignal.any([signal, ended, deps.currentTurn()?.signal].filter((one) => one !== undefined)),
        })
        const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens } = answer.usage
        const usage = {
          input_tokens: inputTokens,
          output_tokens: outputTokens,
          cache_read_tokens: cachedInputTokens,
          cache_write_tokens: cacheWriteTokens,
          total_tokens: inputTokens + outputTokens,
        }
        return { text: answer.text, model, usage }
      }),

    runTool: (owner, name, args) =>
      nested(owner, async () => {
        const given = argumentsText(args)
        const id = uuid7(clock())
        const around = deps.currentTurn() ?? (await turnOfItsOwn(owner, id))
        const outcome = await runManagedTool(
          { ...deps, ...around, apiRequestId: '', resumed: false, journal: noJournal, watcher: nobody },
          { id: `plugin_${id}`, name, arguments: given },
          around.signal,
        )
        // A tool that failed says so in its result; one that was not run has none.
        if (outcome.ok || outcome.summary === outcome.result) return outcome.result
        throw new HermesError('plugins/tool-refused', `${name}: ${outcome.summary}`)
      }),

    async inject(owner, content, { role = 'user', sessionKey = deps.ownSession() } = {}) {
      if (typeof content !== 'string') throw badRequest('injectMessage: expected a text')
      const atOwnTerminal = deps.ownSession() !== undefined
      if (!atOwnTerminal && !entry(owner).allow_gateway_injection) {
        log.warn(
          { plugin: owner },
          `plugin ${owner} may not hand in messages: plugins.entries.${owner}.allow_gateway_injection`,
        )
        return false
      }
      if (sessionKey === undefined) return false
      const source = await deps.writerIn(sessionKey)
      if (source === undefined) return false
      const now = clock()
      const event = {
        source,
        text: role === 'user' ? content : `[${role}] ${content}`,
        messageType: 'text',
        timestamp: now,
        internal: true,
        allowGatewayControl: false,
      } as const
      try {
        const { status } = await inbox.accept(event, [brand<EventKey>(`plugin:${uuid7(now)}`)])
        return status === 'accepted'
      } catch (error) {
        log.warn({ plugin: owner, error }, `a message of plugin ${owner} was not taken in: ${messageOf(error)}`)
        return false
      }
    },
  }
}

/** A plugin that asks for something outside of turns is a conversation of its own. */
function factsOf(owner: string, turnId: string, chosen: ChosenModel | undefined): TurnFacts {
  const session = `plugin:${owner}`
  return {
    sessionId: session,
    sessionKey: session,
    turnId,
    taskId: session,
    platform: '',
    route: '',
    senderId: '',
    parentSessionId: '',
    model: chosen?.model ?? '',
    provider: chosen?.provider.name ?? '',
    baseUrl: chosen?.provider.baseUrl ?? '',
    apiMode: chosen?.provider.apiMode ?? '',
  }
}

/** Nothing of it is resumed: what a plugin began ends with the process. */
const noJournal: Journal = {
  assistant: async () => undefined,
  wasBegun: async () => false,
  toolStarted: async () => 'run',
  toolEnded: async () => undefined,
}

const nobody: AgentWatcher = {
  text: () => undefined,
  toolStarted: () => undefined,
  toolEnded: () => undefined,
  step: () => undefined,
}

/** Messages in the OpenAI format; what a `system` among them says comes before them. */
function conversationOf(prompt: string | readonly Fields[], system: string): Pick<RequestInput, 'system' | 'messages'> {
  if (typeof prompt === 'string') return { system, messages: [{ role: 'user', content: prompt }] }
  const parts = [system]
  const messages: ChatMessage[] = []
  for (const message of prompt) {
    const { role } = message
    const content = textOf(message['content'])
    if (role === 'system') parts.push(content)
    else if (role === 'user' || role === 'assistant') messages.push({ role, content })
    else throw invalid(`expected the role system, user or assistant, found ${JSON.stringify(role)}`)
  }
  if (messages.length === 0) throw invalid('expected at least one message')
  return { system: parts.filter((part) => part !== '').join('\n\n'), messages }
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) throw invalid('expected a content that is a text')
  return content.map((part) => (isTextPart(part) ? part.text : '')).join('')
}

function isTextPart(part: unknown): part is { readonly text: string } {
  return typeof part === 'object' && part !== null && 'text' in part && typeof part.text === 'string'
}

/** Plugins may be written without types. */
function argumentsText(args: unknown): string {
  if (args === undefined || args === null) return '{}'
  const expected = 'dispatchTool: expected an object with the arguments'
  if (typeof args !== 'object' || Array.isArray(args)) throw badRequest(expected)
  try {
    return JSON.stringify(args)
  } catch (error) {
    throw badRequest(`${expected}: ${messageOf(error)}`)
  }
}

function invalid(detail: string): HermesError {
  return badRequest(`llm.complete: ${detail}`)
}

function badRequest(detail: string): HermesError {
  return new HermesError('plugins/bad-request', detail)
}
