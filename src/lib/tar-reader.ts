/**
 * Reads a tar archive that arrives in pieces, so that no file of it must fit into memory.
 */
import { Buffer } from 'node:buffer'
import { blockSize, longNameOf, paddedSize, readTarHeader, type TarHeader } from './tar.ts'

export interface StreamedEntry extends TarHeader {
  /** To be read before the next entry. What is not read is skipped. */
  readonly content: AsyncIterable<Buffer>
}

/** A long name is short in a valid archive. */
const maxNameBytes = 65_536

/** Rejects with what is wrong, as a clause about the archive. */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<StreamedEntry> {
  const bytes = createByteReader(source)
  let longName = ''
  for (;;) {
    const header = readTarHeader(await bytes.take(blockSize))
    if (header === 'end') return
    const { type, name, size } = header
    if (type === 'x' || type === 'L') {
      if (size > maxNameBytes) throw new Error('it is damaged')
      longName = longNameOf(type, (await bytes.take(paddedSize(size))).subarray(0, size))
      continue
    }
    const content = bytes.chunks(size)
    yield { ...header, name: longName || name, content }
    longName = ''
    for await (const _ of content);
    await bytes.take(paddedSize(size) - size)
  }
}

function createByteReader(source: AsyncIterable<Uint8Array>) {
  const iterator = source[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)
  /** At least one byte and at most `count`. */
  async function next(count: number): Promise<Buffer> {
    while (rest.length === 0) {
      const { done, value } = await iterator.next()
      if (done === true) throw new Error('it ends too early')
      rest = Buffer.from(value.buffer, value.byteOffset, value.length)
    }
    const chunk = rest.subarray(0, count)
    rest = rest.subarray(chunk.length)
    return chunk
  }
  async function* chunks(count: number): AsyncGenerator<Buffer> {
    for (let left = count; left > 0; ) {
      const chunk = await next(left)
      left -= chunk.length
      yield chunk
    }
  }
  return {
    chunks,
    async take(count: number): Promise<Buffer> {
      const parts: Buffer[] = []
      for await (const chunk of chunks(count)) parts.push(chunk)
      return Buffer.concat(parts)
    },
  }
}
