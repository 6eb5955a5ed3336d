import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shortenSnapshot, toPlaywrightRef } from '../../../src/agent/browser/snapshot.ts'

const tree = `- generic [active] [ref=f4e1]:
  - heading "Offers" [level=1] [ref=f4e2]
  - paragraph [ref=f4e3]: Some words [ref=f4e99]
  - generic [ref=f4e4]:
    - link "More [ref=f4e98]" [ref=f4e5] [cursor=pointer]:
      - /url: /more
    - 'button "a: b" [disabled] [ref=f4e6]'
  - iframe [ref=f4e7]:
    - checkbox "Inner" [checked] [ref=f5e2]
  - text: the end`

test('a short snapshot has what can be used, with refs of the page', () => {
  const { snapshot, elements, prefix } = shortenSnapshot(tree, { full: false, offset: 0 })
  assert.deepEqual(snapshot.split('\n'), [
    '- heading "Offers" [level=1]',
    '- link "More [ref=f4e98]" [@e5]',
    '- button "a: b" [disabled] [@e6]',
    '- iframe',
    '  - checkbox "Inner" [checked] [@f5e2]',
  ])
  assert.deepEqual([elements, prefix], [3, 'f4'])
})

test('a full snapshot has all text', () => {
  const { snapshot } = shortenSnapshot(tree, { full: true, offset: 0 })
  assert.match(snapshot, /paragraph: Some words/)
  assert.match(snapshot, /\/url: \/more/)
  assert.match(snapshot, /text: the end/)
  assert.doesNotMatch(snapshot, /generic/)
})

test('a ref leads to an element of the last snapshot only', () => {
  assert.equal(toPlaywrightRef('@e5', 'f4'), 'f4e5')
  assert.equal(toPlaywrightRef('[@f5e2]', 'f4'), 'f5e2')
  assert.equal(toPlaywrightRef('e5', ''), 'e5')
  for (const ref of ['', '@', 'button', 'e5 >> text=Buy', '//a', 'f5', '@e5@e6'])
    assert.equal(toPlaywrightRef(ref, 'f4'), undefined, ref)
})
