/**
 * Reads a stream of bytes, such as the body of a response, up to a limit.
 */

/** Undefined when there are more bytes; the rest is not read, and the stream ends. Rejects as the stream does. */
export async function readLimited(
  content: AsyncIterable<Uint8Array> | null,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  if (content === null) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of content) {
    bytes += chunk.length
    if (bytes > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, bytes)
}
