/**
 * The protocol of `GET /web/stream`: one JSON object per line. The adapter and the page (through JSDoc) use these types.
 */

/** A stored entry of the chat, with the shape of the gateway's `ChatEntry`. */
export interface WireEntry {
  readonly id: string
  readonly from: 'user' | 'agent'
  readonly kind: 'message' | 'notice'
  readonly text: string
  /** Milliseconds since 1970. */
  readonly at: number
  readonly turnId?: string | undefined
  /** The id that the page created for the message. */
  readonly messageId?: string | undefined
  readonly question?: WireQuestion | undefined
  readonly files?: readonly WireFile[]
}

/** A file of a message. */
export interface WireFile {
  readonly kind: 'photo' | 'image' | 'animation' | 'sticker' | 'video' | 'audio' | 'voice' | 'document'
  /** '' when the sender gave none. */
  readonly fileName: string
  readonly mimeType?: string | undefined
  readonly bytes?: number | undefined
  /** Behind `/web/files/`. Absent when the gateway does not have the file. */
  readonly path?: string
  /** The caption of a file of the agent, or ''. */
  readonly caption?: string
}

/** The answer of `GET /api/uploads`. */
export interface WireUploadLimits {
  readonly max_bytes: number
  readonly max_files: number
  readonly piece_bytes: number
}

/** The state of an upload. */
export interface WireUpload {
  readonly id: string
  readonly bytes: number
  readonly received: number
  /** Present once it is complete. */
  readonly file?: {
    readonly kind: WireFile['kind']
    readonly mimeType: string
    /** Why models cannot look at the picture. */
    readonly problem?: string
  }
}

/** A question, as it is now. A later entry with the same `id` is its result, which replaces it. */
export interface WireQuestion {
  readonly id: string
  readonly state: 'open' | 'accepted' | 'refused' | 'unanswered'
  /** Empty unless it is open. */
  readonly buttons: readonly WireButton[]
}

export interface WireButton {
  readonly id: string
  readonly label: string
  readonly style?: 'primary' | 'danger' | undefined
  /** The answer is the next message. */
  readonly isText?: true | undefined
}

/** A line of `GET /web/commands`. */
export interface WireCommand {
  readonly name: string
  readonly description: string
  readonly argsHint: string
}

/** A line of `GET /api/approvals`. */
export interface WireApproval {
  readonly id: string
  readonly covers: string
  readonly where: string
  readonly by: string
}

/** A line of `pending` in `GET /api/pairing`. */
export interface WirePairingRequest {
  readonly platform: string
  readonly requestId: string
  readonly userId: string
  /** '' when the platform gives none. */
  readonly userName: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
}

/** The answer of `GET /api/models`. */
export interface WireModelOffers {
  readonly current: { readonly provider: string; readonly model: string }
  readonly providers: readonly {
    readonly name: string
    readonly label: string
    readonly is_ready: boolean
    readonly is_local: boolean
  }[]
}

/** What `POST /api/models/connect` stores: a provider, or the address of a server. */
export interface WireConnection {
  readonly provider?: string
  readonly base_url?: string
  readonly key?: string
  readonly model: string
}

/** A platform that a bot can be connected on, as `GET /api/setup/platforms` lists it. */
export interface WirePlatform {
  readonly name: string
  readonly label: string
  readonly is_set: boolean
  readonly state: string
  readonly reason?: string
}

/** What `GET /api/setup/platforms/{platform}` adds. */
export interface WirePlatformForm extends WirePlatform {
  readonly steps: readonly { readonly text: string; readonly url?: string }[]
  readonly fields: readonly {
    readonly key: string
    readonly label: string
    readonly description: string
    readonly secret: boolean
    readonly is_set: boolean
  }[]
  readonly asks_for_access: boolean
}

/** What `POST /api/setup/platforms/{platform}/try` answers. */
export interface WireTriedPlatform {
  readonly checks: readonly {
    readonly state: 'ok' | 'note' | 'problem'
    readonly text: string
    readonly advice?: string
    readonly link?: string
  }[]
  readonly invitation?: { readonly name: string; readonly url: string; readonly advice: string }
}

/** A stored conversation, as `GET /api/sessions` describes it. */
export interface WireSession {
  readonly id: string
  readonly platform: string
  readonly chat_id: string | null
  readonly chat_name: string | null
  readonly title: string
  /** The title, or else the beginning of the first message. */
  readonly about: string
  readonly is_current: boolean
  readonly pinned: boolean
  /** The session that this one continues or copies. */
  readonly parent_id: string | null
  readonly created_at: string
  readonly updated_at: string
  readonly message_count: number
  readonly input_tokens: number
  readonly output_tokens: number
  /** US dollars. */
  readonly cost: number
  /** With a search: the words between « and ». */
  readonly match?: { readonly excerpt: string }
}

/** The answer of `GET /api/sessions/<id>/usage`. */
export interface WireUsage {
  readonly model: string
  readonly provider: string
  readonly context_tokens: number | null
  readonly context_length: number
  readonly cached_tokens: number
  readonly input_tokens: number
  readonly output_tokens: number
  /** US dollars. */
  readonly cost: number
  readonly unpriced_tokens: number
}

/** The answer of `GET /api/trace/<subject>`. */
export interface WireTrace {
  readonly message: {
    readonly seq: number
    readonly platform: string
    readonly account: string
    readonly chatId: string
    readonly userId: string
    readonly sessionKey: string
  }
  readonly turn: {
    readonly id: string
    readonly sessionId: string
    readonly model: string
    readonly provider: string
    readonly state: string
  } | null
  readonly ending: string
  readonly reason: string
  readonly steps: readonly {
    readonly kind: 'sent' | 'accepted' | 'waited' | 'turn' | 'model' | 'tool' | 'question' | 'delivery' | 'note'
    readonly name: string
    /** ms since 1970. */
    readonly at: number
    /** Null for a moment, and for a step that goes on. */
    readonly ms: number | null
    readonly result: string
    readonly detail: string
  }[]
}

/** A stored message, as `GET /api/sessions/<id>/messages` describes it. */
export interface WireMessage {
  readonly id: string
  readonly role: 'user' | 'assistant' | 'tool'
  readonly text: string
  readonly truncated: boolean
  readonly tool_calls: readonly {
    readonly id: string
    readonly name: string
    readonly state: 'running' | 'done' | 'failed' | 'interrupted' | null
    readonly label: string
    readonly summary: string
  }[]
  readonly attachments: readonly {
    readonly kind: WireFile['kind']
    readonly file_name: string
    readonly mime_type: string | null
    readonly bytes: number | null
  }[]
  readonly turn_id: string | null
  readonly created_at: string
}

/** The answer of `GET /web/tool`, with the shape of the gateway's `ToolView`. All texts are plain unless stated otherwise. */
export interface WireToolView {
  readonly parts: readonly WireToolPart[]
  /** `whole` in the address brings more. */
  readonly isCut: boolean
}

export type WireToolPart =
  | {
      readonly kind: 'command'
      readonly command: string
      readonly language: 'shell' | 'python'
      readonly output: string
      readonly exitCode?: number
      readonly state: string
    }
  | { readonly kind: 'lines'; readonly path: string; readonly first: number; readonly text: string }
  | {
      readonly kind: 'diff'
      readonly path: string
      readonly added: number
      readonly removed: number
      readonly text: string
    }
  | {
      readonly kind: 'matches'
      readonly path: string
      readonly lines: readonly { readonly line: number; readonly text: string; readonly isContext?: true }[]
      readonly marks: readonly string[]
    }
  | { readonly kind: 'files'; readonly files: readonly string[] }
  | { readonly kind: 'links'; readonly links: readonly { title: string; url: string; text: string }[] }
  | {
      readonly kind: 'todos'
      readonly items: readonly { content: string; status: 'pending' | 'in_progress' | 'completed' | 'cancelled' }[]
    }
  /** `name`: behind `/web/files/`. */
  | { readonly kind: 'pictures'; readonly pictures: readonly { name: string; width: number; height: number }[] }
  | { readonly kind: 'agents'; readonly agents: readonly { goal: string; status: string; text: string }[] }
  | { readonly kind: 'text'; readonly title: string; readonly text: string; readonly markdown: boolean }
  | { readonly kind: 'fields'; readonly fields: readonly { name: string; value: string }[] }
  | { readonly kind: 'error'; readonly text: string; readonly code: string }

/** The answer to a press. */
export interface WirePressResult {
  readonly status: 'taken' | 'stale' | 'refused'
  /** One line of plain text. */
  readonly text: string
}

export interface WireInfo {
  readonly version: string
  readonly model: string
  readonly provider: string
  readonly degraded: readonly string[]
}

export type LiveEvent =
  | { readonly type: 'info'; readonly info: WireInfo }
  /** The conversation has a model of its own, or that of `info` again. */
  | { readonly type: 'model'; readonly model: string; readonly provider: string }
  | { readonly type: 'entry'; readonly entry: WireEntry }
  /** The draft keeps its first `at` UTF-16 units, followed by `text`. */
  | { readonly type: 'draft'; readonly id: string; readonly turnId: string; readonly at: number; readonly text: string }
  | { readonly type: 'draft-gone'; readonly id: string }
  | {
      readonly type: 'turn'
      readonly turnId: string
      readonly state: 'running' | 'done' | 'failed' | 'stopped' | 'interrupted'
    }
  | {
      readonly type: 'tool'
      readonly turnId: string
      readonly callId: string
      readonly tool: string
      readonly label: string
      readonly state: 'running' | 'done' | 'failed' | 'interrupted'
      readonly summary: string
      /** Milliseconds since 1970. */
      readonly startedAt: number
      readonly endedAt?: number
    }
  /** All missed entries were sent; live events follow. `more`: older entries exist. */
  | { readonly type: 'ready'; readonly more: boolean }
  | { readonly type: 'typing' }
  | { readonly type: 'ping' }

export type ToolEvent = Extract<LiveEvent, { type: 'tool' }>
export type DraftEvent = Extract<LiveEvent, { type: 'draft' }>
