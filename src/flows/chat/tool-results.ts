/**
 * What the tools of a chat did, for pages: a line for each call, and a view of one of them. Loaded when a page asks.
 */
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { createToolView, fullResultPath } from '../../agent/tool-views/tool-view.ts'
import { systemCode } from '../../lib/errors.ts'
import type { ChatRef } from '../../message/chat-range.ts'
import type { ToolCallSummary, ToolView } from '../../message/tool-view.ts'
import { findShownToolCall, listShownToolCalls } from '../../sessions/shown-tool-calls.ts'
import type { Runtime } from '../../store/runtime.ts'
import type { Store } from '../../store/store.ts'

/** Rejects `store/…`. */
export function listToolCalls(
  store: Store,
  chat: ChatRef,
  turnIds: readonly string[],
): Promise<readonly ToolCallSummary[]> {
  return store.run(() => listShownToolCalls(chat, turnIds))
}

/**
 * Undefined for a call that is not stored, or that belongs to another chat. Rejects `store/…` and errors of the disk.
 * @param withhold takes secrets out of a text
 */
export async function viewToolCall(
  { home, store }: Pick<Runtime, 'home' | 'store'>,
  withhold: (text: string) => string,
  chat: ChatRef,
  call: { readonly turnId: string; readonly callId: string },
  whole: boolean,
): Promise<ToolView | undefined> {
  const storedCall = await store.run(() => findShownToolCall(chat, call))
  if (storedCall === undefined) return undefined
  const path = whole && storedCall.result !== undefined ? fullResultPath(storedCall.result) : undefined
  // A tool may name any path: only a file of this turn is read.
  const isOwn = path !== undefined && dirname(path) === `${home.results}/${call.turnId}`
  const fullText = isOwn ? await readResult(`${home.results}/${call.turnId}/${basename(path)}`) : undefined
  return createToolView({ ...storedCall, fullText }, { whole, withhold })
}

/** A view shows as much. */
const maxBytes = 4_000_000

/** Undefined for a file that was removed, and for what is no file. */
async function readResult(path: string): Promise<string | undefined> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
    try {
      if (!(await file.stat()).isFile()) return undefined
      const { buffer, bytesRead } = await file.read(Buffer.alloc(maxBytes), 0, maxBytes, 0)
      return buffer.toString('utf8', 0, bytesRead)
    } finally {
      await file.close()
    }
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(systemCode(error) ?? '')) return undefined
    throw error
  }
}
