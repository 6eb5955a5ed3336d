import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countMostTokens, estimateTokens } from '../../../src/agent/compression/context-size.ts'
import { type ChatMessage, type ImagePart, withoutImages } from '../../../src/message/transcript.ts'

function withPictures(count: number, size: number): ChatMessage[] {
  const image = { type: 'image', file: 'a.png', mimeType: 'image/png', bytes: 9, width: size, height: size } as const
  const images: readonly ImagePart[] = [image]
  return Array.from({ length: count }, () => ({ role: 'user' as const, content: 'look', images }))
}

test('a picture counts by its pixels, and a thousand as the twenty that a request shows', () => {
  const pictureTokens = (messages: readonly ChatMessage[]) =>
    estimateTokens(messages) - estimateTokens(withoutImages(messages))
  assert.equal(pictureTokens(withPictures(1, 300)), 120)
  assert.equal(pictureTokens(withPictures(1, 8_000)), 1_600)
  assert.equal(pictureTokens(withPictures(1_000, 8_000)), 32_000)
  for (const count of [1, 1_000]) {
    const messages = withPictures(count, 900)
    assert.ok(countMostTokens(messages) >= estimateTokens(messages))
  }
})
