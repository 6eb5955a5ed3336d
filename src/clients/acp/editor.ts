/**
 * What the sessions need of the editor, behind the SDK.
 */
import type { RequestPermissionRequest, RequestPermissionResponse, SessionUpdate } from '@agentclientprotocol/sdk'

export interface EditorAbilities {
  /** Shows notices apart from the answer. */
  readonly notices: boolean
  /** Shows the output of commands of the agent as a terminal (an extension of Zed). */
  readonly terminals: boolean
}

export interface Editor {
  readonly abilities: EditorAbilities
  /** Resolves when the update was written. Never rejects: an editor that is gone needs none. */
  update(sessionId: string, update: SessionUpdate): Promise<void>
  /** Rejects when the editor cannot ask, and when the signal aborts. */
  askPermission(request: RequestPermissionRequest, signal: AbortSignal): Promise<RequestPermissionResponse>
}
