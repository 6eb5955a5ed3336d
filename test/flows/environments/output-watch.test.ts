import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOutputWatch } from '../../../src/flows/environments/output-watch.ts'

function watch() {
  let now = 0
  const seen: string[] = []
  const read = createOutputWatch({
    patterns: ['ERROR', 'ready'],
    clock: () => now,
    onMatch: (line, number) => void seen.push(`${number}: ${line}`),
    onOff: () => void seen.push('off'),
  })
  return {
    seen,
    read,
    pass: (ms: number) => {
      now += ms
    },
  }
}

test('a text is found in a complete line, also when it comes in pieces', () => {
  const { seen, read } = watch()
  read('no\nrea')
  read('dy')
  assert.deepEqual(seen, [])
  read(' now\nERR')
  assert.deepEqual(seen, ['1: ready now'])
})

test('a match within 15 seconds is not reported, and the next one is', () => {
  const { seen, read, pass } = watch()
  read('ready 1\nready 2\n')
  pass(14_999)
  read('ready 3\n')
  pass(1)
  read('ready 4\n')
  assert.deepEqual(seen, ['1: ready 1', '2: ready 4'])
})

test('three intervals in a row with more matches end the reports; a quiet interval starts the count again', () => {
  const { seen, read, pass } = watch()
  const interval = (text: string) => {
    read(text)
    pass(15_000)
  }
  interval('ready 1\nready\n')
  interval('ready 2\nready\n')
  interval('ready 3\n')
  interval('ready 4\nready\n')
  interval('ready 5\nready\n')
  interval('ready 6\nready\nready\n')
  interval('ready 7\n')
  assert.deepEqual(seen, [...[1, 2, 3, 4, 5, 6].map((number) => `${number}: ready ${number}`), 'off'])
})

test('a text that comes again and again is reported at most 20 times', () => {
  const { seen, read, pass } = watch()
  for (let number = 0; number < 30; number++) {
    read('ready\n')
    pass(20_000)
  }
  assert.equal(seen.length, 21)
  assert.equal(seen.at(-1), 'off')
})
