/**
 * Pictures of the terminal chat: `--image`, `/image <path>`, and a line that begins with the path of a picture, as terminals write
 * it when a file is dropped on them. (Hermes has all three.)
 */
import { openAsBlob } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { HermesError, messageOf, systemCode } from '../../lib/errors.ts'
import type { ChatClient } from './chat-client.ts'

export interface ChatPicturesOptions {
  readonly client: Pick<ChatClient, 'upload'>
  /** The directory that `~` stands for. */
  readonly userHome: string
  readonly signal: AbortSignal
}

export interface ChatPictures {
  /** Uploads a picture for the next message. Throws `cli/usage`, `media/…`, and as `ChatClient.upload`. */
  attach(path: string): Promise<void>
  /** Whether `read` must look at the line. */
  isNamedIn(line: string): boolean
  /** Attaches the picture that a line names. `text`: the rest, which is the message; '' if there is none. Throws as `attach`. */
  read(line: string): Promise<{ readonly text: string; readonly notice?: string }>
  /** The ids of the attached pictures, which then belong to a message. */
  take(): readonly string[]
}

const command = /^\/image(?:\s+|$)/
/** A path in quotes, or one whose spaces are escaped, and the text behind it. */
const leadingPath = /^(?:'([^']+)'|"([^"]+)"|((?:\\.|[^\s\\])+))(?:\s+(.*))?$/s
const pathStart = /^['"]?(?:~?\/|\.{1,2}\/|file:\/\/)/
const pictureName = /\.(?:png|jpe?g|gif|webp)$/i

export function createChatPictures({ client, userHome, signal }: ChatPicturesOptions): ChatPictures {
  let attached: { readonly id: string; readonly name: string }[] = []

  return {
    attach,
    isNamedIn: (line) => command.test(line) || findDropped(line) !== undefined,
    async read(line) {
      if (command.test(line)) return await attachNamed(line.replace(command, '').trim())
      const dropped = findDropped(line)
      if (dropped === undefined || !(await isFile(dropped.path))) return { text: line }
      await attach(dropped.path)
      return { text: dropped.text, ...(dropped.text === '' ? { notice: describe() } : {}) }
    },
    take() {
      const ids = attached.map(({ id }) => id)
      attached = []
      return ids
    },
  }

  async function attachNamed(written: string): Promise<{ text: string; notice: string }> {
    if (written === '') return { text: '', notice: 'Usage: /image <path>, /image clear' }
    if (written === 'clear') {
      attached = []
      return { text: '', notice: 'No picture is attached.' }
    }
    // The whole rest is a path, which may contain spaces.
    await attach(/^(['"]).*\1$/s.test(written) ? written.slice(1, -1) : written.replace(/\\(.)/g, '$1'))
    return { text: '', notice: describe() }
  }

  function describe(): string {
    return `Attached to the next message: ${attached.map(({ name }) => name).join(', ')}`
  }

  async function attach(written: string): Promise<void> {
    const path = toPath(written)
    const file = await openPicture(path)
    const { id, kind, mimeType, problem } = await client.upload(basename(path), file, signal)
    if (problem !== undefined) throw new HermesError('media/picture-refused', `${path}: ${problem}.`)
    if (kind !== 'photo') throw new HermesError('cli/usage', `${path} is no picture (${mimeType}).`)
    attached = [...attached, { id, name: basename(path) }]
  }

  function findDropped(line: string): { path: string; text: string } | undefined {
    if (!pathStart.test(line)) return undefined
    const [, single, double, bare, text = ''] = leadingPath.exec(line) ?? []
    const path = single ?? double ?? bare?.replace(/\\(.)/g, '$1') ?? ''
    return pictureName.test(path) ? { path, text: text.trim() } : undefined
  }

  async function isFile(path: string): Promise<boolean> {
    try {
      return (await stat(toPath(path))).isFile()
    } catch {
      // Such a line is a message, for example a command of the gateway.
      return false
    }
  }

  function toPath(path: string): string {
    if (path.startsWith('~/')) return join(userHome, path.slice(2))
    return path.startsWith('file://') ? fileURLToPath(path) : resolve(path)
  }
}

/** Throws `cli/usage`. */
async function openPicture(path: string): Promise<Blob> {
  try {
    const stats = await stat(path)
    if (!stats.isFile()) throw new HermesError('cli/usage', `${path} is no file.`)
    if (stats.size === 0) throw new HermesError('cli/usage', `${path} is empty.`)
    return await openAsBlob(path)
  } catch (cause) {
    if (cause instanceof HermesError) throw cause
    const reason = systemCode(cause) === 'ENOENT' ? 'there is no such file' : (systemCode(cause) ?? messageOf(cause))
    throw new HermesError('cli/usage', `The picture ${path} cannot be read: ${reason}.`, { cause })
  }
}
