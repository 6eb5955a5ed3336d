import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsePrompts } from '../../../src/clients/batch/read-prompts.ts'

const none = { system: '', toolsets: undefined }
const bytes = (...lines: readonly string[]) => Buffer.from(lines.join('\n'))
const parse = (...lines: readonly string[]) => parsePrompts(bytes(...lines), '/data/prompts.jsonl', none)

test('a line is an object with a prompt or a string, and empty lines are skipped', () => {
  const { prompts, broken } = parse('\ufeff{"prompt": "one", "id": 7}', '', '"two"\r', '{"prompt": "/new"}')
  assert.deepEqual(broken, [])
  assert.deepEqual(
    prompts.map(({ line, text }) => [line, text]),
    [
      [1, 'one'],
      [3, 'two'],
      [4, '/new'],
    ],
  )
  assert.equal(prompts[0]?.id, '7')
})

test('each broken line is reported with its number, and the others are used', () => {
  const invalid = Buffer.concat([bytes('"ok"', ''), Buffer.from([0x22, 0xff, 0x22, 0x0a])])
  const lines = [
    '{"prompt": ""}',
    'plain text',
    '[]',
    '7',
    '{"id": "x"}',
    '{"prompt": "p", "id": ""}',
    '{"prompt": "last"}',
  ]
  const { prompts, broken } = parsePrompts(Buffer.concat([invalid, bytes(...lines)]), '/data/p', none)
  assert.deepEqual(
    prompts.map(({ text }) => text),
    ['ok', 'last'],
  )
  assert.deepEqual(
    broken.map(({ line }) => line),
    [2, 3, 4, 5, 6, 7, 8],
  )
})

test('a second line with the same id is broken, but equal texts without ids are prompts of their own', () => {
  const { prompts, broken } = parse('{"prompt": "a", "id": "x"}', '{"prompt": "b", "id": "x"}', '"same"', '"same"')
  assert.deepEqual(
    broken.map(({ line }) => line),
    [2],
  )
  assert.equal(new Set(prompts.map(({ id }) => id)).size, 3)
})

test('an id that is made of the text stays when lines are added or moved', () => {
  const before = parse('"a"', '"b"').prompts.map(({ id }) => id)
  const after = parse('"new"', '"b"', '"a"').prompts.map(({ id }) => id)
  assert.deepEqual(after.slice(1).reverse(), before)
})

test('the hash changes with everything that the answer depends on, and with nothing else', () => {
  const hashOf = (line: string, defaults = none) => parsePrompts(bytes(line), '/data/p', defaults).prompts[0]?.hash
  const plain = hashOf('{"prompt": "a", "id": "1"}')
  assert.equal(hashOf('{"prompt": "a", "id": "2", "metadata": {"k": 1}, "source": "x"}'), plain)
  const others = ['{"prompt": "b"}', '{"prompt": "a", "system": "s"}', '{"prompt": "a", "toolsets": ["web"]}']
  for (const line of [...others, '{"prompt": "a", "image": "x.png"}']) assert.notEqual(hashOf(line), plain, line)
  assert.notEqual(hashOf('"a"', { system: 'Be brief.', toolsets: undefined }), plain)
})

test('toolsets are a list or a text, pictures begin at the file, and a line overrides the defaults', () => {
  const lines = bytes('{"prompt": "a", "toolsets": "web, file", "image": "cat.png", "system": "own"}', '"b"')
  const { prompts } = parsePrompts(lines, '/data/p.jsonl', { system: 'all', toolsets: ['terminal'] })
  assert.deepEqual(
    prompts.map(({ toolsets, images, system }) => ({ toolsets, images, system })),
    [
      { toolsets: ['web', 'file'], images: ['/data/cat.png'], system: 'own' },
      { toolsets: ['terminal'], images: [], system: 'all' },
    ],
  )
})

test('unknown fields are named, and those of Hermes that change where a prompt runs are refused', () => {
  const { prompts, broken, ignoredFields } = parse(
    '{"prompt": "a", "answer": 1, "reason": "x", "__proto__": 2}',
    '{"prompt": "b", "docker_image": "python:3"}',
    '{"prompt": "c", "cwd": "/app"}',
  )
  assert.deepEqual([prompts.length, broken.map(({ line }) => line)], [1, [2, 3]])
  assert.deepEqual(
    ignoredFields.filter((name) => name !== '__proto__'),
    ['answer', 'reason'],
  )
})
