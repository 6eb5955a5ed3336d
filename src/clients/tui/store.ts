/**
 * The state of the terminal interface: its conversations, which of them is shown, and the gateway. Changes are functions of the
 * state, and each one asks for a new frame.
 */
import { type Conversation, type ConversationEvent, newConversation, reduceConversation } from './conversation.ts'

export interface TuiState {
  readonly gateway: GatewayState
  /** The chat that is shown. */
  readonly current: string
  /** The opened conversations by their chat. */
  readonly conversations: ReadonlyMap<string, Conversation>
  /** Whether tools are shown with all that is known of them. */
  readonly showsDetails: boolean
  /** What the next key does; replaces the status line until then. */
  readonly hint: string
}

type GatewayState = { readonly state: 'starting' } | { readonly state: 'ready'; readonly model: string }

export interface Store {
  readonly state: TuiState
  update(change: Partial<TuiState>): void
  dispatch(chat: string, event: ConversationEvent): void
  /** Shows a conversation, and makes it if it is not known. */
  show(chat: string, history?: Conversation['history']): void
}

/** @param history 'unknown' for a conversation whose messages must be read */
export function createStore(chat: string, history: Conversation['history'], onChange: () => void): Store {
  let state: TuiState = {
    gateway: { state: 'starting' },
    current: chat,
    conversations: new Map([[chat, newConversation(chat, history)]]),
    showsDetails: false,
    hint: '',
  }

  return {
    get state() {
      return state
    },
    update,
    dispatch(target, event) {
      const known = state.conversations.get(target)
      if (known === undefined) return
      const changed = reduceConversation(known, event)
      const read = target === state.current ? reduceConversation(changed, { type: 'read' }) : changed
      if (read !== known) update({ conversations: new Map(state.conversations).set(target, read) })
    },
    show(target, history) {
      const known = state.conversations.get(target) ?? newConversation(target, history)
      const conversations = new Map(state.conversations).set(target, reduceConversation(known, { type: 'read' }))
      update({ current: target, conversations })
    },
  }

  function update(change: Partial<TuiState>): void {
    state = { ...state, ...change }
    onChange()
  }
}

export function currentConversation({ conversations, current }: TuiState): Conversation {
  return conversations.get(current) ?? newConversation(current)
}

/** Other conversations that have something new: `asking` wait for an answer. */
export function countWaiting({ conversations, current }: TuiState): { unread: number; asking: number } {
  const others = [...conversations.values()].filter(({ chat }) => chat !== current)
  return {
    unread: others.filter(({ isUnread }) => isUnread).length,
    asking: others.filter(({ questions }) => questions.length > 0).length,
  }
}
