/**
 * What the tools of a chat did, for pages: a line for each call, and a view of one of them. Loaded when a page asks.
 */
import { createToolView } from '../agent/tool-views/tool-view.ts'
import type { ChatRef } from '../message/chat-range.ts'
import type { ToolCallSummary, ToolView } from '../message/tool-view.ts'
import { findShownToolCall, listShownToolCalls } from '../sessions/shown-tool-calls.ts'
import type { Store } from '../store/store.ts'

export interface ToolResultsDeps {
  readonly store: Store
  /** Takes secrets out of a text. */
  withhold(text: string): string
}

/** Rejects `store/…`. */
export function listToolCalls(
  { store }: ToolResultsDeps,
  chat: ChatRef,
  turnIds: readonly string[],
): Promise<readonly ToolCallSummary[]> {
  return store.run(() => listShownToolCalls(chat, turnIds))
}

/** Undefined for a call that is not stored, or that belongs to another chat. Rejects `store/…`. */
export async function viewToolCall(
  { store, withhold }: ToolResultsDeps,
  chat: ChatRef,
  call: { readonly turnId: string; readonly callId: string },
  whole: boolean,
): Promise<ToolView | undefined> {
  const found = await store.run(() => findShownToolCall(chat, call))
  return found === undefined ? undefined : createToolView(found, { whole, withhold })
}
