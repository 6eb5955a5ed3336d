/**
 * What plugins may request of a running gateway: a completion of the model, a tool call, a message in a session.
 */

import type { Agent, CurrentTurn } from '../../agent/agent.ts'
import type { ProgressListener } from '../../agent/loop/journal.ts'
import { noopJournal, runToolCall, type ToolCallDeps } from '../../agent/loop/run-tool-call.ts'
import type { ChosenModel } from '../../agent/models/chosen-model.ts'
import { complete } from '../../agent/models/completion.ts'
import type { RequestInput } from '../../agent/models/provider.ts'
import type { RetryRules } from '../../agent/models/retry-policy.ts'
import type { ModelCallDeps } from '../../agent/models/run-model-call.ts'
import type { TurnInfo } from '../../agent/support/agent-hooks.ts'
import type { Inbox } from '../../inbox/inbox.ts'
import { HermesError, messageOf } from '../../lib/errors.ts'
import { brand, uuid7 } from '../../lib/ids.ts'
import type { Authority } from '../../message/authority.ts'
import type { MessageEvent } from '../../message/event.ts'
import type { EventKey, SessionId, TurnId } from '../../message/ids.ts'
import type { SessionSource } from '../../message/source.ts'
import type { ChatMessage, Usage } from '../../message/transcript.ts'
import type { Fields } from '../../middleware/contract.ts'
import type { PluginConfigEntry } from '../../plugins/config.ts'
import type { PluginServices } from '../../plugins/context.ts'
import { createRecursionGuard } from '../../plugins/recursion-guard.ts'
import { findSessionSource } from '../../sessions/session-state.ts'
import type { Store } from '../../store/store.ts'
import type { AgentServices } from '../tools/agent-services.ts'

export interface PluginHostApiDeps extends Pick<ToolCallDeps, 'approve'>, ModelCallDeps {
  readonly retry: () => RetryRules
  readonly agents: Pick<AgentServices, 'models' | 'tools'>
  readonly inbox: Pick<Inbox, 'accept'>
  readonly store: Store
  /** Whether a user may talk to the agent. */
  access(event: Pick<MessageEvent, 'source'>): { readonly allowed: boolean }
  /** The session of a terminal with an embedded gateway; undefined elsewhere. */
  embeddedSessionKey(): string | undefined
  /** The turn in which the caller runs; undefined outside of turns. */
  currentTurn: Agent['currentTurn']
  /** The configuration of a plugin. */
  entry(owner: string): PluginConfigEntry
  /** Aborts when the gateway stops. */
  readonly stopping: AbortSignal
}

type PluginHostApi = Pick<PluginServices, 'complete' | 'injectMessage' | 'dispatchTool' | 'callMcp'>

export function createPluginHostApi(deps: PluginHostApiDeps): PluginHostApi {
  const { agents, inbox, log, clock, stopping, entry } = deps
  const withRecursionGuard = createRecursionGuard()

  async function createDetachedTurn(owner: string, id: string): Promise<CurrentTurn> {
    const turn = turnInfoOf(owner, id, await agents.models.model().catch(() => undefined))
    const turnRef = {
      sessionId: brand<SessionId>(turn.sessionId),
      id: brand<TurnId>(id),
      transcript: [],
      authority: pluginAuthority,
    }
    return {
      turn,
      tools: await agents.tools.forTurn({ sessionId: turn.sessionId, authority: pluginAuthority }),
      approve: deps.approve,
      signal: stopping,
      toolContextFor: (call) => agents.tools.toolContext(turnRef, call, stopping),
    }
  }

  function dispatchTool(owner: string, name: string, args: Fields, limit?: AbortSignal): Promise<string> {
    return withRecursionGuard(owner, async () => {
      const id = uuid7(clock())
      const enclosingTurn = deps.currentTurn() ?? (await createDetachedTurn(owner, id))
      const { signal } = enclosingTurn
      const result = await runToolCall(
        {
          turn: enclosingTurn.turn,
          tools: enclosingTurn.tools,
          approve: enclosingTurn.approve,
          toolContextFor: enclosingTurn.toolContextFor,
          agentHooks: deps.agentHooks,
          middleware: deps.middleware,
          apiRequestId: '',
          resumed: false,
          // They end with the process.
          journal: noopJournal,
          listener: noopListener,
          log,
          clock,
          failpoint: deps.failpoint,
        },
        { id: `plugin_${id}`, name, arguments: argumentsText(args) },
        limit === undefined ? signal : AbortSignal.any([signal, limit]),
      )
      if (result.write !== undefined) await deps.store.commit(result.write, deps.clock)
      // The result of a failed tool describes the error. A tool that was not run has no result.
      if (result.ok || result.summary === result.result) return result.result
      throw new HermesError('plugins/tool-refused', `${name}: ${result.summary}`)
    })
  }

  return {
    complete: (owner, prompt, options = {}) =>
      withRecursionGuard(owner, async () => {
        const chosen = await agents.models.model()
        const { model = chosen.model, system = '', maxOutputTokens, signal } = options
        if (model !== chosen.model && !entry(owner).llm.allow_model_override) {
          throw new HermesError('plugins/not-allowed', `(plugins.entries.${owner}.llm.allow_model_override)`)
        }
        const input: RequestInput = {
          ...toConversation(prompt, system),
          model,
          tools: [],
          maxOutputTokens,
        }
        const answer = await complete(deps, {
          provider: chosen.provider,
          input,
          turn: turnInfoOf(owner, uuid7(clock()), { ...chosen, model }),
          retry: deps.retry,
          signal: AbortSignal.any([signal, stopping, deps.currentTurn()?.signal].filter((each) => each !== undefined)),
        })
        await countCompletion(deps, owner, { ...chosen, model, usage: answer.usage })
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

    dispatchTool: (owner, name, args) => dispatchTool(owner, name, args),

    callMcp: async (owner, server, tool, args, options) => {
      const { callMcpTool } = await import('../mcp/plugin-mcp-calls.ts')
      const seconds = typeof options === 'number' ? options : options?.timeout
      return await callMcpTool({ entry, dispatch: dispatchTool }, owner, server, tool, args, seconds)
    },
    async injectMessage(owner, content, { role = 'user', sessionKey = deps.embeddedSessionKey() } = {}) {
      if (typeof content !== 'string') throw badRequest('injectMessage: expected a text')
      const isEmbedded = deps.embeddedSessionKey() !== undefined
      if (!isEmbedded && !entry(owner).allow_gateway_injection) {
        const setting = `plugins.entries.${owner}.allow_gateway_injection`
        log.warn({ event: 'plugin.injection_denied', plugin: owner, setting }, 'a plugin may not inject messages')
        return false
      }
      if (sessionKey === undefined) return false
      const source = await lastAuthorizedSource(deps, sessionKey)
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
        log.warn(
          { event: 'plugin.injection_failed', plugin: owner, err: error },
          'a message of a plugin was not accepted',
        )
        return false
      }
    },
  }
}

/** The source of the last message of a session, if its sender still has access. */
async function lastAuthorizedSource(
  { store, access }: PluginHostApiDeps,
  sessionKey: string,
): Promise<SessionSource | undefined> {
  const source = await store.run(() => findSessionSource(sessionKey))
  return source !== undefined && access({ source }).allowed ? source : undefined
}

/** Plugins are programs of the owner. Within a turn, their calls have the authority of the turn. */
const pluginAuthority: Authority = { role: 'owner', platform: 'plugin', chatType: 'dm' }

/** Outside of turns each plugin has a session of its own. */
function turnInfoOf(owner: string, turnId: string, chosen: ChosenModel | undefined): TurnInfo {
  const sessionId = `plugin:${owner}`
  return {
    sessionId,
    sessionKey: sessionId,
    turnId,
    taskId: sessionId,
    platform: '',
    route: '',
    senderId: '',
    role: pluginAuthority.role,
    parentSessionId: '',
    model: chosen?.model ?? '',
    provider: chosen?.provider.name ?? '',
    baseUrl: chosen?.provider.baseUrl ?? '',
    apiMode: chosen?.provider.apiMode ?? '',
  }
}

/** A completion is not lost because it cannot be counted. */
async function countCompletion(
  { store, clock, currentTurn, log }: PluginHostApiDeps,
  owner: string,
  { provider, model, usage }: ChosenModel & { readonly usage: Usage },
): Promise<void> {
  const turn = currentTurn()?.turn
  const { recordAuxiliaryCall } = await import('../../sessions/auxiliary-calls.ts')
  const call = { task: `plugin:${owner}`, provider: provider.name, model, usage }
  try {
    await store.run(() =>
      recordAuxiliaryCall({ ...call, sessionId: turn?.sessionId ?? '', turnId: turn?.turnId ?? null }, clock()),
    )
  } catch (error) {
    log.warn(
      { event: 'model.usage_not_stored', task: call.task, err: error },
      'the tokens of a call could not be stored',
    )
  }
}

const noopListener: ProgressListener = {
  onText: () => undefined,
  onToolStart: () => undefined,
  onToolEnd: () => undefined,
  onIteration: () => undefined,
  onModelTrouble: () => ({ failed: () => undefined, recovered: () => undefined }),
}

/** Messages in the OpenAI format. Their `system` messages become the system prompt. */
function toConversation(prompt: string | readonly Fields[], system: string): Pick<RequestInput, 'system' | 'messages'> {
  if (typeof prompt === 'string') return { system, messages: [{ role: 'user', content: prompt }] }
  const parts = [system]
  const messages: ChatMessage[] = []
  for (const message of prompt) {
    const { role } = message
    const content = textOf(message['content'])
    if (role === 'system') parts.push(content)
    else if (role === 'user' || role === 'assistant') messages.push({ role, content })
    else throw invalidCompletion(`expected the role system, user or assistant, found ${JSON.stringify(role)}`)
  }
  if (messages.length === 0) throw invalidCompletion('expected at least one message')
  return { system: parts.filter((part) => part !== '').join('\n\n'), messages }
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) throw invalidCompletion('expected a content that is a text')
  return content.map((part) => (isTextPart(part) ? part.text : '')).join('')
}

function isTextPart(part: unknown): part is { readonly text: string } {
  return typeof part === 'object' && part !== null && 'text' in part && typeof part.text === 'string'
}

/** For plugins written without types. */
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

function invalidCompletion(detail: string): HermesError {
  return badRequest(`llm.complete: ${detail}`)
}

function badRequest(detail: string): HermesError {
  return new HermesError('plugins/bad-request', detail)
}
