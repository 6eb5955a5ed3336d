/**
 * The frames of an editor over standard input and output. Nothing else reaches the output: whatever this process or a plugin prints
 * goes to the errors.
 */
import { Console } from 'node:console'
import type { Input, Output } from '../context.ts'

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

/** A line that is too long is replaced by one that is no JSON, so that the editor receives an error and the next line is read. */
const replacement = new TextEncoder().encode('frame too long\n')
const newline = 0x0a

/** The bytes of complete lines. */
export function readFrames(input: Input, maxBytes: number): ReadableStream<Uint8Array> {
  async function* read() {
    let length = 0
    for await (const part of input) {
      const chunk = typeof part === 'string' ? Buffer.from(part) : part
      let start = 0
      for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
        const line = chunk.subarray(start, end + 1)
        if (length + line.length > maxBytes) yield replacement
        else yield line
        start = end + 1
        length = 0
      }
      const rest = chunk.subarray(start)
      length += rest.length
      if (rest.length > 0 && length <= maxBytes) yield rest
    }
  }
  return ReadableStream.from(read())
}
