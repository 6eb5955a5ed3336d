/**
 * The frames of an editor over standard input and output. Nothing else reaches the output: whatever this process or a plugin prints
 * goes to the errors.
 */
import { Console } from 'node:console'
import type { Input, Output } from '../../lib/terminal-streams.ts'

/** A frame may contain pictures, as text. */
export const maxFrameBytes = 32 * 1_024 * 1_024

export interface Frames {
  readonly input: ReadableStream<Uint8Array>
  readonly output: WritableStream<Uint8Array>
  /** Gives the output back. */
  restore(): void
}

export function takeStandardStreams({
  input,
  output,
  errors,
}: {
  input: Input
  output: Output
  errors: Output
}): Frames {
  const { write } = output
  const ownConsole = globalThis.console
  const send = (chunk: Uint8Array) =>
    new Promise<void>((resolve, reject) => {
      Reflect.apply(write, output, [chunk, (error?: Error | null) => (error ? reject(error) : resolve())])
    })
  output.write = errors.write.bind(errors)
  globalThis.console = new Console({ stdout: errors, stderr: errors })
  return {
    input: readFrames(input, maxFrameBytes),
    output: new WritableStream({ write: send }),
    restore() {
      output.write = write
      globalThis.console = ownConsole
    },
  }
}

/** The request that a frame becomes when it is too long, so that the editor receives an error for it. */
export const frameTooLong = '_hermes/frame_too_long'

const newline = 0x0a
/** Bytes at both ends of a long frame in which its id is looked for. */
const searchedBytes = 1_000

/** Complete lines. */
export function readFrames(input: Input, maxBytes: number): ReadableStream<Uint8Array> {
  async function* read() {
    let line = createLine(maxBytes)
    for await (const part of input) {
      const chunk = typeof part === 'string' ? Buffer.from(part) : part
      let start = 0
      for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
        line.add(chunk.subarray(start, end + 1))
        yield line.bytes()
        line = createLine(maxBytes)
        start = end + 1
      }
      line.add(chunk.subarray(start))
    }
    if (line.length() > 0) yield line.bytes()
  }
  return ReadableStream.from(read())
}

function createLine(maxBytes: number) {
  let parts: Uint8Array[] = []
  let length = 0
  let head: string | undefined
  let tail: Uint8Array = Buffer.alloc(0)
  return {
    length: () => length,
    add(part: Uint8Array): void {
      length += part.length
      if (head === undefined) parts.push(part)
      if (length <= maxBytes) return
      head ??= Buffer.concat(parts).subarray(0, searchedBytes).toString()
      parts = []
      tail = Buffer.concat([tail, part.subarray(-searchedBytes)]).subarray(-searchedBytes)
    },
    bytes: (): Uint8Array =>
      head === undefined ? Buffer.concat(parts) : Buffer.from(`${replacementOf(head, tail.toString())}\n`),
  }
}

/** A frame without an id becomes one that is no JSON, which is answered with an error, too. */
function replacementOf(head: string, tail: string): string {
  const [, first] = /^\s*\{[^{]*?"id"\s*:\s*(\d+|"[^"\\]*")\s*,/.exec(head) ?? []
  const [, last] = /,\s*"id"\s*:\s*(\d+|"[^"\\]*")\s*\}\s*$/.exec(tail) ?? []
  const id = first ?? last
  return id === undefined ? 'frame too long' : `{"jsonrpc":"2.0","id":${id},"method":"${frameTooLong}"}`
}
