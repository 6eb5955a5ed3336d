/**
 * The conversations in which a memory provider is used: for each person in each of them, the provider is initialized once.
 */

import { createLruCache } from '../../lib/cache.ts'
import { commandLinePlatform } from '../../message/source.ts'
import type { MemoryContext } from '../memory-provider.ts'
import type { MemoryOwner } from '../plugin-memory.ts'

export interface MemoryConversation {
  /** The context of the session that is current now. */
  context: MemoryContext
  /** Whether the provider could be initialized. Never rejects. */
  ready: Promise<boolean>
  /** A change of the session that was not delivered yet. Never rejects. */
  switching: Promise<void> | undefined
  /** Turns since the gateway started. */
  turns: number
}

export interface MemoryConversations {
  /**
   * Initializes the provider with the first call for this person in this conversation, and again after a failure. A change of the
   * session that was not delivered yet is waited for; undefined when that takes too long.
   */
  open(owner: MemoryOwner): Promise<MemoryConversation | undefined>
  /**
   * The context of calls that wait in the queue of the conversation, in front of a change of the session or behind it. It waits for
   * no change, because the change waits for the queue. The session is that of the call, also when the conversation has another now.
   */
  openQueued(owner: MemoryOwner): Promise<MemoryContext | undefined>
  /** All people of the conversation. */
  ofKey(sessionKey: string): readonly MemoryConversation[]
  /** The conversation whose turn runs in the session. */
  ofSession(sessionId: string): MemoryConversation | undefined
  /** A turn of this conversation runs. */
  turnStarted(conversation: MemoryConversation): void
  /** Returns the conversations of the command line. */
  ofCommandLine(): readonly MemoryConversation[]
}

/** Conversations that are remembered; the provider is initialized again for others. */
const maxConversations = 500

/**
 * @param initialize resolves with whether it succeeded; never rejects
 * @param waitForSwitch resolves with whether the change was delivered in time; never rejects
 */
export function createMemoryConversations(
  hermesHome: string,
  initialize: (context: MemoryContext) => Promise<boolean>,
  waitForSwitch: (switching: Promise<void>) => Promise<boolean>,
): MemoryConversations {
  const byKey = createLruCache<Map<string, MemoryConversation>>(maxConversations)
  const bySession = createLruCache<MemoryConversation>(maxConversations)
  const commandLineKeys = new Set<string>()

  function create({ sessionId, sessionKey, platform, chatType, userId }: MemoryOwner): MemoryConversation {
    const people = byKey.get(sessionKey) ?? new Map<string, MemoryConversation>()
    byKey.set(sessionKey, people)
    const agentContext = 'primary'
    const who = { sessionId, sessionKey, platform, chatType, userId }
    const context = { ...who, hermesHome, agentContext, parentSessionId: '' } as const
    const conversation = { context, ready: initialize(context), switching: undefined, turns: 0 }
    people.set(userId, conversation)
    if (platform === commandLinePlatform) commandLineKeys.add(sessionKey)
    return conversation
  }

  async function whenReady(owner: MemoryOwner, conversation: MemoryConversation) {
    if (await conversation.ready) return conversation
    // The next turn tries again.
    const people = byKey.get(owner.sessionKey)
    if (people?.get(owner.userId) === conversation) people.delete(owner.userId)
    return undefined
  }

  const find = ({ sessionKey, userId }: MemoryOwner) => byKey.get(sessionKey)?.get(userId)
  const ofKey = (sessionKey: string) => [...(byKey.get(sessionKey)?.values() ?? [])]
  return {
    async open(owner) {
      const switching = find(owner)?.switching
      if (switching !== undefined && !(await waitForSwitch(switching))) return undefined
      // Another call may have opened it meanwhile.
      const known = find(owner)
      return await whenReady(owner, known?.context.sessionId === owner.sessionId ? known : create(owner))
    },
    async openQueued(owner) {
      const conversation = await whenReady(owner, find(owner) ?? create(owner))
      return conversation && { ...conversation.context, sessionId: owner.sessionId }
    },
    ofKey,
    ofSession: (sessionId) => bySession.get(sessionId),
    turnStarted(conversation) {
      conversation.turns += 1
      bySession.set(conversation.context.sessionId, conversation)
    },
    ofCommandLine: () => [...commandLineKeys].flatMap(ofKey),
  }
}
