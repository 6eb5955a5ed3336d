/**
 * What a stream sends of an answer that grows.
 */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createTextDelta } from '../../../platforms/api_server/text-delta.ts'

/** Everything a client has read after these drafts and this final text. */
function read(drafts: readonly string[], final: string): { pieces: string[]; text: string } {
  const answer = createTextDelta()
  const pieces = [...drafts.map((text) => answer.next(text)), answer.finish(final)].filter((piece) => piece !== '')
  return { pieces, text: pieces.join('') }
}

it('each delta contains only the text that was not sent yet', () => {
  assert.deepEqual(read(['He', 'Hello', 'Hello', 'Hello wor'], 'Hello world').pieces, ['He', 'llo', ' wor', 'ld'])
})

it('without drafts the whole text is sent at the end', () => {
  assert.deepEqual(read([], 'Hello').pieces, ['Hello'])
})

it('white space at either end does not change the final text', () => {
  assert.equal(read(['\n', '\nHello ', '\nHello world \n'], 'Hello world').text, 'Hello world')
  assert.equal(read(['Hello'], 'Hello\n').text, 'Hello')
})

it('a surrogate pair is never split', () => {
  const { pieces } = read(['a\ud83d', 'a😀', 'a😀b\ud83d'], 'a😀b😀')
  assert.deepEqual(pieces, ['a', '😀', 'b', '😀'])
  assert.ok(pieces.every((piece) => piece.isWellFormed()))
})

it('an outdated, shorter draft changes nothing', () => {
  assert.equal(read(['Hello wor', 'Hello'], 'Hello world').text, 'Hello world')
})

it('a restarted reply follows as a separate, complete paragraph', () => {
  assert.equal(read(['Hello wor', 'Hel', 'Hello there'], 'Hello there!').text, 'Hello wor\n\nHello there!')
})

it('a rewritten final text follows as a separate paragraph', () => {
  assert.equal(read(['My key is 123'], 'My key is [removed]').text, 'My key is 123\n\nMy key is [removed]')
})
