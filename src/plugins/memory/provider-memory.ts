/**
 * Connects the memory provider that `memory.provider` names with the turns, the sessions and the tools of the gateway. One
 * provider is used at a time. What a turn need not wait for is queued per conversation, behind the turn.
 */
import type { TurnInfo } from '../../agent/support/agent-hooks.ts'
import { isRecord } from '../../lib/json.ts'
import { withTimeout } from '../../lib/timers.ts'
import type { Fields } from '../../middleware/contract.ts'
import { createKeyedQueue } from '../keyed-queue.ts'
import type { MemoryContext, MemoryProvider, MemorySyncContext } from '../memory-provider.ts'
import type { MemoryOwner, MemorySessionReplacement, PluginMemory } from '../plugin-memory.ts'
import { type ActiveProvider, createActiveProvider } from './active-provider.ts'
import type { ProviderMemoryDeps } from './contract.ts'
import { recallLimitMs } from './provider-calls.ts'
import { redactStrings } from './provider-tools.ts'
import { isTrivialPrompt, toMemoryBlock, toMemoryContext } from './recalled-text.ts'

/** Calls that may wait per conversation. */
const maxPendingCalls = 100

export function createProviderMemory(deps: ProviderMemoryDeps): PluginMemory {
  const { log } = deps
  const queue = createKeyedQueue(maxPendingCalls)
  const providers = createActiveProvider(deps)
  const { current } = providers

  /** A guest uses none, and a group only one that keeps apart what was said in private. */
  function usedFor({ role, chatType }: Pick<MemoryOwner, 'role' | 'chatType'>): ActiveProvider | undefined {
    const used = role === 'guest' ? undefined : current()
    if (used === undefined) return undefined
    const isSafe = chatType === 'dm' || used.provider.separatesChats === true || deps.groupMemory() === 'all'
    return isSafe ? used : undefined
  }

  function push(sessionKey: string, owner: string, work: () => Promise<void>): boolean {
    const isQueued = queue.push(sessionKey, work)
    if (!isQueued) {
      log.warn(
        { event: 'plugin.memory_turn_dropped', plugin: owner, session: sessionKey },
        'the memory provider is too slow; a call was dropped',
      )
    }
    return isQueued
  }

  /** The text of one method for one conversation. */
  async function blockOf(
    owner: MemoryOwner,
    method: 'systemPromptBlock' | 'onPreCompress',
    invoke: (provider: MemoryProvider, context: MemoryContext) => unknown,
  ): Promise<string> {
    const used = usedFor(owner)
    if (used?.calls.has(method) !== true) return ''
    const conversation = await used.conversations.open(owner)
    if (conversation === undefined) return ''
    const result = await used.calls.call(method, () => invoke(used.provider, conversation.context))
    return result.ok ? toMemoryBlock(result.value) : ''
  }

  return {
    register: providers.register,
    refresh: providers.refresh,
    activeProviderName: () => current()?.provider.name,
    problem: providers.problem,

    async recall(turn, message) {
      const used = isPrimary(turn) ? usedFor(ownerOf(turn)) : undefined
      if (used === undefined) return ''
      const recalling = recallFor(deps, used, turn, message)
      const result = await withTimeout(recalling, recallLimitMs(deps.timeoutMs()), undefined, deps.sleep)
      return result.done ? toMemoryContext(result.value) : ''
    },

    syncTurn(turn, { userMessage, response, history }) {
      const used = isPrimary(turn) ? usedFor(ownerOf(turn)) : undefined
      if (used === undefined) return
      const user = deps.redact(userMessage)
      push(turn.sessionKey, used.owner, async () => {
        const { provider, calls } = used
        const context = await used.conversations.openQueued(ownerOf(turn))
        if (context === undefined) return
        const sync = syncContextOf(context, history, deps.redact)
        await calls.call('syncTurn', () => provider.syncTurn?.(user, deps.redact(response), sync))
        if (!isTrivialPrompt(user)) await calls.call('queuePrefetch', () => provider.queuePrefetch?.(user, context))
      })
    },

    delegated(parent, { goal, sessionId: childSessionId }, result) {
      const used = isPrimary(parent) ? usedFor(ownerOf(parent)) : undefined
      if (used?.calls.has('onDelegation') !== true) return
      const [task, text] = [deps.redact(goal), deps.redact(result)]
      push(parent.sessionKey, used.owner, async () => {
        const context = await used.conversations.openQueued(ownerOf(parent))
        if (context === undefined) return
        const about = { ...context, childSessionId }
        await used.calls.call('onDelegation', () => used.provider.onDelegation?.(task, text, about))
      })
    },

    promptBlock: (owner) =>
      blockOf(owner, 'systemPromptBlock', (provider, context) => provider.systemPromptBlock?.(context)),
    beforeCompression: (messages, owner) =>
      blockOf(owner, 'onPreCompress', (provider, context) =>
        provider.onPreCompress?.(redactMessages(messages, deps.redact), context),
      ),

    sessionReplaced(replacement) {
      const used = usedFor(replacement)
      if (used === undefined) return
      const known = used.conversations.ofKey(replacement.sessionKey)
      const done = Promise.withResolvers<void>()
      for (const conversation of known) conversation.switching = done.promise
      const delivered = () => {
        // A later change may already wait.
        for (const conversation of known)
          if (conversation.switching === done.promise) conversation.switching = undefined
        done.resolve()
      }
      const isQueued = push(replacement.sessionKey, used.owner, async () => {
        try {
          await replaceSession(deps, used, replacement)
        } catch (error) {
          logUnread(deps, used.owner, replacement.oldSessionId, error)
        } finally {
          delivered()
        }
      })
      if (!isQueued) delivered()
    },

    memoryWritten({ action, target, content, metadata = {} }, owner) {
      const used = usedFor(owner)
      if (used?.calls.has('onMemoryWrite') !== true) return
      push(owner.sessionKey, used.owner, async () => {
        const context = await used.conversations.openQueued(owner)
        if (context === undefined) return
        const about = { ...context, metadata: redactStrings(metadata, deps.redact) }
        const text = deps.redact(content)
        await used.calls.call('onMemoryWrite', () => used.provider.onMemoryWrite?.(action, target, text, about))
      })
    },

    drain: queue.drain,

    async stop() {
      const used = current()
      if (used !== undefined) await endCommandLineSessions(deps, used)
      await providers.close()
    },
  }
}

/** Only a turn of a conversation with a person who is not a guest: no background task, no sub-agent. */
function isPrimary({ taskId, sessionId, rootTurnId, role }: TurnInfo): boolean {
  return taskId === sessionId && rootTurnId === undefined && role !== 'guest'
}

function ownerOf({ sessionId, sessionKey, platform, route, senderId: userId, role }: TurnInfo): MemoryOwner {
  const chatType = route === '' ? 'dm' : route.slice(platform.length + 1)
  return { sessionId, sessionKey, platform, chatType, userId, role }
}

async function recallFor(
  { redact }: ProviderMemoryDeps,
  { provider, calls, conversations }: ActiveProvider,
  turn: TurnInfo,
  message: string,
): Promise<unknown> {
  const { turnId, model } = turn
  const conversation = await conversations.open(ownerOf(turn))
  if (conversation === undefined) return ''
  conversations.turnStarted(conversation)
  const { context, turns } = conversation
  const query = redact(message)
  await calls.call('onTurnStart', () => provider.onTurnStart?.(turns, query, { ...context, turnId, model }))
  if (isTrivialPrompt(query)) return ''
  const result = await calls.call('prefetch', () => provider.prefetch?.(query, context))
  return result.ok ? result.value : ''
}

/** The end of the old session, where there is one, then the change to the new one. */
async function replaceSession(
  { readMessages, redact }: ProviderMemoryDeps,
  { provider, calls, conversations }: ActiveProvider,
  { oldSessionId, newSessionId, reason, ...owner }: MemorySessionReplacement,
): Promise<void> {
  const reset = reason === 'new' || reason === 'daily' || reason === 'idle'
  const endsOne = reset && oldSessionId !== null && calls.has('onSessionEnd')
  // The gateway may have started since the last turn of the session that ends.
  if (endsOne && conversations.ofKey(owner.sessionKey).length === 0)
    await conversations.openQueued({ ...owner, sessionId: oldSessionId })
  const opened = conversations.ofKey(owner.sessionKey)
  const messages = endsOne && opened.length > 0 ? redactMessages(await readMessages(oldSessionId), redact) : []
  const change = { parentSessionId: reset ? '' : (oldSessionId ?? ''), reset, rewound: reason === 'undo', reason }
  for (const conversation of opened) {
    const before = conversation.context
    if (messages.length > 0) await calls.call('onSessionEnd', () => provider.onSessionEnd?.(messages, before))
    const parentSessionId = oldSessionId === newSessionId ? before.parentSessionId : change.parentSessionId
    conversation.context = { ...before, sessionId: newSessionId, parentSessionId }
    await calls.call('onSessionSwitch', () => provider.onSessionSwitch?.(newSessionId, change, conversation.context))
  }
}

/** A session of the command line ends with its process; those of chats go on after a restart. */
async function endCommandLineSessions(
  { readMessages, redact, log }: ProviderMemoryDeps,
  { owner, provider, calls, conversations }: ActiveProvider,
): Promise<void> {
  if (!calls.has('onSessionEnd')) return
  for (const { context, turns } of conversations.ofCommandLine()) {
    if (turns === 0) continue
    try {
      const messages = redactMessages(await readMessages(context.sessionId), redact)
      if (messages.length > 0) await calls.call('onSessionEnd', () => provider.onSessionEnd?.(messages, context))
    } catch (error) {
      logUnread({ log }, owner, context.sessionId, error)
    }
  }
}

function logUnread({ log }: Pick<ProviderMemoryDeps, 'log'>, owner: string, session: string | null, error: unknown) {
  log.warn(
    { event: 'plugin.memory_session_unread', plugin: owner, session, err: error },
    'the messages of a session cannot be read for the memory provider',
  )
}

function redactMessages(messages: readonly Fields[], redact: (text: string) => string): readonly Fields[] {
  return messages.map((message) => redactStrings(message, redact))
}

/** The messages are built only for a provider that reads them. */
function syncContextOf(
  context: MemoryContext,
  history: () => readonly Fields[],
  redact: (text: string) => string,
): MemorySyncContext {
  let messages: readonly Fields[] | undefined
  return {
    ...context,
    get messages() {
      messages ??= redactMessages(history().filter(isRecord), redact)
      return messages
    },
  }
}
