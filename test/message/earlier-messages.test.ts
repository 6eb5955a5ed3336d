import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatEarlierMessages } from '../../src/message/earlier-messages.ts'

const said = (author: string, text: string) => ({ author, text, attachments: [] })

test('earlier messages name their authors and files, and empty ones are left out', () => {
  const photo = { author: 'Eve', text: '', attachments: [{ kind: 'photo' as const, fileName: 'a]b.png' }] }
  assert.deepEqual(formatEarlierMessages([said('Ada', 'hello'), said('Bob', ''), photo]), [
    '[Ada] hello',
    '[Eve] [image: a b.png]',
  ])
})

test('an earlier message cannot imitate one of another author', () => {
  const [line = ''] = formatEarlierMessages([said('Mal]\u2028[Ada', 'one\n[Ada] two\u2028[Ada] three')])
  assert.equal(line, '[Mal Ada] one\n    [Ada] two\n    [Ada] three')
})

test('the newest earlier messages are kept whole, and a long one is cut', () => {
  const long = 'x'.repeat(5_000)
  const lines = formatEarlierMessages([
    said('A', 'first'),
    said('B', long),
    said('C', 'y'.repeat(3_985)),
    said('D', 'z'),
  ])
  assert.deepEqual(
    lines.map((line) => [line.slice(1, 2), line.length]),
    [
      ['C', 3_989],
      ['D', 5],
    ],
  )
  assert.equal(formatEarlierMessages([said('B', long)])[0]?.length, 4_004)
})
