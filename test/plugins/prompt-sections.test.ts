/**
 * Sections of the system prompt: the same bytes whatever the order of loading, within the contract's limits.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPromptSections, type PromptSections } from '../../src/plugins/prompt-sections.ts'
import { createRecordingLog } from '../hosts/support.ts'
import { createVirtualTime } from '../platforms/virtual-time.ts'
import { neverSettles, warningsOf } from './support.ts'

function sectionsUnderTest() {
  const log = createRecordingLog()
  const time = createVirtualTime()
  const sections = createPromptSections({ log, now: time.clock, sleep: time.sleep, timeoutMs: () => 1_000 })
  return { sections, log, time, warnings: () => warningsOf(log) }
}

const about = { sessionId: 's1', platform: 'web' }

test('sections are ordered by plugin and name, not by registration', async () => {
  const added: ((sections: PromptSections) => unknown)[] = [
    (sections) => sections.register('beta', 'rules', 'three'),
    (sections) => sections.register('alpha', 'b', async ({ platform }) => `two on ${platform}`),
    (sections) => sections.register('alpha', 'a', () => ' one\n'),
    (sections) => sections.register('alpha', 'c', () => null),
    (sections) => sections.register('alpha', 'd', ''),
  ]
  for (const order of [added, added.toReversed()]) {
    const { sections } = sectionsUnderTest()
    for (const add of order) add(sections)
    assert.equal(await sections.render(about), 'one\n\ntwo on web\n\nthree')
  }
})

test('without sections the prompt is unchanged', async () => {
  const { sections } = sectionsUnderTest()
  assert.equal(await sections.render(about), '')
})

test('a section that fails, times out or is not a text is omitted', async () => {
  const { sections, time, warnings } = sectionsUnderTest()
  sections.register('a', 'broken', () => {
    throw new Error('no file')
  })
  sections.register('b', 'slow', neverSettles)
  sections.register('c', 'odd', () => JSON.parse('7'))
  sections.register('d', 'well', 'here')
  const rendered = sections.render(about)
  await time.advance(1_000)
  assert.equal(await rendered, 'here')
  assert.deepEqual(warnings().sort(), [
    ['plugin.callback_failed', 'a', 'section broken'],
    ['plugin.callback_failed', 'b', 'section slow'],
    ['plugin.prompt_section_issue', 'c', 'odd'],
  ])
})

test('a section is truncated to 4,000 characters without splitting a character', async () => {
  const { sections, warnings } = sectionsUnderTest()
  sections.register('a', 'long', `${'x'.repeat(3_999)}😀 and more`)
  const text = await sections.render(about)
  assert.equal(text.length, 4_000)
  assert.ok(text.isWellFormed())
  await sections.render(about)
  assert.deepEqual(warnings(), [['plugin.prompt_section_issue', 'a', 'long']])
})

test('all sections together have at most 8,000 characters, and sections that do not fit are omitted', async () => {
  const { sections, warnings } = sectionsUnderTest()
  sections.register('a', 'one', 'a'.repeat(4_000))
  sections.register('b', 'two', 'b'.repeat(3_000))
  sections.register('c', 'three', 'c'.repeat(2_000))
  sections.register('d', 'four', 'd'.repeat(1_000))
  const text = await sections.render(about)
  assert.deepEqual(
    text.split('\n\n').map((part) => `${part[0]}${part.length}`),
    ['a4000', 'b3000', 'd1000'],
  )
  assert.deepEqual(warnings(), [['plugin.prompt_section_issue', 'c', 'three']])
})

test('there are at most 32 sections', async () => {
  const { sections, warnings } = sectionsUnderTest()
  for (let index = 10; index < 43; index += 1) sections.register('a', `${index}`, `${index}`)
  const text = await sections.render(about)
  assert.equal(text.split('\n\n').length, 32)
  assert.deepEqual(warnings(), [['plugin.prompt_section_issue', 'a', '42']])
})

test('a section of the same name replaces the previous one until it is removed', async () => {
  const { sections } = sectionsUnderTest()
  const first = sections.register('a', 'rules', 'old')
  const second = sections.register('a', 'rules', 'new')
  assert.equal(await sections.render(about), 'new')
  assert.equal(second.remove(), true)
  assert.equal(await sections.render(about), 'old')
  assert.equal(first.remove(), true)
  assert.equal(first.remove(), false)
  assert.equal(await sections.render(about), '')
})
