/**
 * Every row of docs/reference/conformance.md names tests that exist, by their file and their exact name.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root, textOf } from './repository.ts'

const path = 'docs/reference/conformance.md'

interface Row {
  /** `000` … `003`, `later` or `ours`. */
  readonly seed: string
  readonly statement: string
  readonly proofs: readonly { readonly file: string; readonly name: string }[]
}

/** Rows of the tables: `| 000 | statement | proofs | note |`; proofs are `` `file` name ``, with `<br>` between them. */
function rowsIn(text: string): Row[] {
  return text.split('\n').flatMap((line) => {
    const [, seed = '', statement = '', proved = ''] = line.split(/(?<!\\)\|/).map((cell) => cell.trim())
    if (!/^(?:\d{3}|later|ours)$/.test(seed)) return []
    const proofs = proved.split('<br>').map((proof) => {
      const { file = '', name = '' } = /^`(?<file>[^`]+)` (?<name>.+)$/.exec(proof.trim())?.groups ?? {}
      return { file, name: name.replaceAll('\\|', '|') }
    })
    return [{ seed, statement, proofs }]
  })
}

/** Whether the file has a test of this name. For a template, the file must contain every inserted part. */
function hasTest(file: string, name: string): boolean {
  const text = textOf(file)
  return namesIn(text).some((known) => {
    if (typeof known === 'string') return known === name
    const parts = known.exec(name)
    return parts?.slice(1).every((part) => text.includes(part)) === true
  })
}

/** The names of the tests of a file. */
function namesIn(text: string): (string | RegExp)[] {
  const named = /\b(?:test|it)\(\s*(?<quote>['"`])(?<name>(?:\\.|(?!\k<quote>)[\s\S])*)\k<quote>/g
  return [...text.matchAll(named)].map(({ groups = {} }) => {
    const name = (groups['name'] ?? '').replace(/\\(?<letter>.)/g, '$<letter>')
    return groups['quote'] === '`' && name.includes('${') ? patternOf(name) : name
  })
}

function patternOf(template: string): RegExp {
  const parts = template.split(/\$\{[^}]*\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('(.*)')}$`)
}

/** A sentence for each proof without a test. */
function missingProofs(rows: readonly Row[]): string[] {
  return rows.flatMap(({ statement, proofs }) =>
    proofs.flatMap(({ file, name }) => {
      if (!file.endsWith('.test.ts') || !existsSync(join(root, file))) return [`${statement}: no file ${file}`]
      return hasTest(file, name) ? [] : [`${statement}: ${file} has no test "${name}"`]
    }),
  )
}

test('every test that the conformance page names exists', () => {
  const rows = rowsIn(textOf(path))
  for (const seed of ['000', '001', '002', '003']) {
    assert.ok(rows.filter((row) => row.seed === seed).length >= 10, `seed ${seed}`)
  }
  for (const seed of ['later', 'ours']) assert.ok(rows.filter((row) => row.seed === seed).length >= 5, seed)
  assert.deepEqual(missingProofs(rows), [])
  const statements = rows.map(({ seed, statement }) => `${seed} ${statement}`)
  assert.deepEqual([...new Set(statements)], statements, 'a statement is repeated')
})

test('a row that names a missing test is reported', () => {
  const here = 'test/docs/conformance.test.ts'
  const planted = [
    `| 000 | right | \`${here}\` a row that names a missing test is reported | |`,
    `| 000 | another name | \`${here}\` something else | |`,
    '| 000 | another file | `test/docs/nothing.test.ts` something | |',
    '| 000 | none | | |',
  ]
  assert.deepEqual(missingProofs(rowsIn(planted.join('\n'))), [
    `another name: ${here} has no test "something else"`,
    'another file: no file test/docs/nothing.test.ts',
    'none: no file ',
  ])
})
