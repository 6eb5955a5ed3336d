/**
 * The messages of the bot on the fake platform.
 */
import type { Button } from '../../src/sdk.ts'

/** A message of the bot in its current form. */
export interface ShownMessage {
  readonly id: string
  readonly key: string
  readonly chat: string
  readonly thread?: string
  readonly kind: string
  text: string
  /** All its texts, oldest first. */
  readonly versions: string[]
  /** The current buttons. */
  buttons: readonly Button[]
  /** Its file: the bytes or the URL. */
  readonly file?: { readonly fileName: string; readonly content: Uint8Array | string }
  /** The key of the album that the file was sent in. */
  readonly album?: string
}

/** A message as the adapter sends it. */
export type WireMessage = Omit<ShownMessage, 'id' | 'versions'>

export function createShownMessages() {
  const messages: ShownMessage[] = []
  let posted = 0
  let watchers: { matches: (message: ShownMessage) => boolean; resolve: (message: ShownMessage) => void }[] = []

  function announce(message: ShownMessage): ShownMessage {
    const notified = watchers.filter(({ matches }) => matches(message))
    watchers = watchers.filter((watcher) => !notified.includes(watcher))
    for (const { resolve } of notified) resolve(message)
    return message
  }

  return {
    /** Oldest first. */
    all: messages,
    /** Resolves with the first message that matches. */
    until(matches: (message: ShownMessage) => boolean): Promise<ShownMessage> {
      const found = messages.find(matches)
      if (found !== undefined) return Promise.resolve(found)
      return new Promise((resolve) => watchers.push({ matches, resolve }))
    },
    post(message: WireMessage): ShownMessage {
      posted += 1
      const shown = { ...message, id: `m${posted}`, versions: [message.text] }
      messages.push(shown)
      return announce(shown)
    },
    /** Undefined if there is no such message. */
    rewrite(id: string, { text, buttons }: WireMessage): ShownMessage | undefined {
      const shown = messages.find((message) => message.id === id)
      if (shown === undefined) return undefined
      shown.text = text
      shown.versions.push(text)
      shown.buttons = buttons
      return announce(shown)
    },
    /** False if there is no such message. */
    remove(id: string): boolean {
      const at = messages.findIndex((message) => message.id === id)
      if (at !== -1) messages.splice(at, 1)
      return at !== -1
    },
  }
}

/** From the JSON of a request. */
export function messageIn(body: unknown): WireMessage {
  const fields = new Map(Object.entries(typeof body === 'object' && body !== null ? body : {}))
  const textOf = (field: string) => String(fields.get(field) ?? '')
  const thread = fields.get('thread')
  const buttons = fields.get('buttons')
  return {
    key: textOf('key'),
    chat: textOf('chat'),
    kind: textOf('kind'),
    text: textOf('text'),
    buttons: Array.isArray(buttons) ? buttons : [],
    ...(typeof thread === 'string' ? { thread } : {}),
    ...fileIn(fields.get('file')),
  }
}

/** The messages of an album. They share its key. */
export function albumIn(body: unknown): readonly WireMessage[] {
  const { files, ...common } = Object(body)
  if (!Array.isArray(files)) throw new Error('an album needs files')
  return files.map((file) => {
    const message = messageIn({ ...common, ...file })
    return { ...message, album: message.key }
  })
}

function fileIn(wire: unknown): Pick<ShownMessage, 'file'> {
  if (typeof wire !== 'object' || wire === null) return {}
  const { fileName, url, base64 } = Object(wire)
  return { file: { fileName, content: url ?? new Uint8Array(Buffer.from(base64, 'base64')) } }
}
