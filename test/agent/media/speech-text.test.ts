import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toSpeech } from '../../../src/agent/media/speech-text.ts'

const cases: readonly (readonly [string, string])[] = [
  ['# Title\n\nSome **bold**, *slanted* and `code`.', 'Title\n\nSome bold, slanted and code.'],
  ['See [the page](https://example.com/a?b=c) and <https://www.example.org/x>.', 'See the page and example.org.'],
  ['![a cat](cat.png)', 'a cat'],
  ['- one\n- [x] two\n3. three', 'one\ntwo\n3. three'],
  ['Before\n```js\nconst a = 1\n```\nafter', 'Before\n\nafter'.replace('\n\n', '\n')],
  ['~~~\nopen code', ''],
  ['| a | b |\n|---|---|\n| 1 | 2 |', 'a, b\n\n1, 2'],
  ['> quoted\n\n---\n\nend', 'quoted\n\nend'],
  ['snake_case_name stays, _this_ does not, 2 * 3 * 4 stays', 'snake_case_name stays, this does not, 2 * 3 * 4 stays'],
  ['Done ✅ 👨‍👩‍👧 <b>now</b>', 'Done now'],
  ['\\*not bold\\*', '*not bold*'],
]

for (const [markdown, spoken] of cases) {
  test(`${JSON.stringify(markdown)} is spoken as ${JSON.stringify(spoken)}`, () => {
    assert.deepEqual(toSpeech(markdown, 1_000), { text: spoken, isCut: false })
  })
}

test('a long text ends with a sentence, and is never longer than the limit', () => {
  const { text, isCut } = toSpeech('This is a sentence. '.repeat(50), 100)
  assert.equal(isCut, true)
  assert.equal(
    text,
    'This is a sentence. This is a sentence. This is a sentence. This is a sentence. This is a sentence.',
  )
  assert.ok(toSpeech('x'.repeat(5_000), 100).text.length <= 100)
})
