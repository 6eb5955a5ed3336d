/**
 * The conversations in which a memory provider is used: for each person in each of them, the provider is initialized once.
 */
import { createLruCache } from '../../lib/lru-cache.ts'
import type { MemoryContext } from '../memory-provider.ts'
import type { MemoryOwner } from '../plugin-memory.ts'

export interface MemoryConversation {
  /** Of the session that is current now. */
  context: MemoryContext
  /** Whether the provider could be initialized. Never rejects. */
  ready: Promise<boolean>
  /** A change of the session that was not delivered yet. Never rejects. */
  switching: Promise<void> | undefined
  /** Turns since the gateway started. */
  turns: number
}

export interface MemoryConversations {
  /** Initializes the provider with the first call for this person in this conversation, and again after a failure. */
  open(owner: MemoryOwner): Promise<MemoryConversation | undefined>
  /** All people of the conversation. */
  ofKey(sessionKey: string): readonly MemoryConversation[]
  /** The conversation whose turn runs in the session. */
  ofSession(sessionId: string): MemoryConversation | undefined
  /** A turn of this conversation runs. */
  turnStarted(conversation: MemoryConversation): void
  /** Of the command line. */
  ofCommandLine(): readonly MemoryConversation[]
}

/** Conversations that are remembered; the provider is initialized again for others. */
const maxConversations = 500

/** @param initialize resolves with whether it succeeded; never rejects */
export function createMemoryConversations(
  hermesHome: string,
  initialize: (context: MemoryContext) => Promise<boolean>,
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
    if (platform === 'cli') commandLineKeys.add(sessionKey)
    return conversation
  }

  const ofKey = (sessionKey: string) => [...(byKey.get(sessionKey)?.values() ?? [])]
  return {
    async open(owner) {
      const known = byKey.get(owner.sessionKey)?.get(owner.userId)
      await known?.switching
      const isCurrent = known !== undefined && known.context.sessionId === owner.sessionId
      const conversation = isCurrent ? known : create(owner)
      if (await conversation.ready) return conversation
      // The next turn tries again.
      const people = byKey.get(owner.sessionKey)
      if (people?.get(owner.userId) === conversation) people.delete(owner.userId)
      return undefined
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
