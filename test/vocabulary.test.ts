/**
 * One vocabulary: the terms that the glossary retires do not come back (docs/reference/glossary.md).
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { filesOf, textOf } from './docs/repository.ts'

const glossary = 'docs/reference/glossary.md'

/** The columns of the table below the heading. */
function rowsBelow(heading: string): readonly (readonly string[])[] {
  const section = textOf(glossary).split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  const lines = section.split('\n').filter((line) => line.startsWith('| '))
  return lines.slice(1).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

/** Each word may be inflected, and the words may stand on two lines of a comment. */
function patternOf(term: string): RegExp {
  const words = term.split(' ').map((word) => `${word.replace(/s$/, '')}(?:s|ed|ing|d)?`)
  return new RegExp(`\\b${words.join('(?:\\s|\\*|//)+')}\\b`, 'gi')
}

/** `path:line: word` for each use of a retired term. */
function usesIn(path: string, text: string, retired: readonly RegExp[]): string[] {
  return retired.flatMap((pattern) =>
    [...text.matchAll(pattern)].map(({ index, 0: word }) => {
      const line = text.slice(0, index).split('\n').length
      return `${path}:${line}: ${word}`
    }),
  )
}

describe('the vocabulary', () => {
  const retired = rowsBelow('Retired terms').map(([term = '']) => patternOf(term))

  test('is defined in the glossary, about sixty terms with one meaning each', () => {
    const terms = [...textOf(glossary).matchAll(/^\| \*\*([^*]+)\*\* \|/gm)].map(([, term]) => term)
    assert.ok(terms.length >= 55, `${terms.length} terms`)
    assert.deepEqual(terms, [...new Set(terms)])
    assert.ok(retired.length >= 15)
  })

  test('a planted use of a retired term is found, also across two lines', () => {
    const text = '/**\n * The message was set\n * aside. Mended.\n */'
    assert.deepEqual(usesIn('planted.ts', text, [patternOf('set aside'), patternOf('mend')]), [
      'planted.ts:2: set\n * aside',
      'planted.ts:3: Mended',
    ])
  })

  test('has no retired term in sources, pages and tests', () => {
    const files = ['src', 'platforms', 'plugins', 'hooks', 'docs', 'test']
      .flatMap((folder) => filesOf(folder))
      .concat(['README.md', 'CONTRIBUTING.md', 'SECURITY.md'])
      .filter((path) => /\.(ts|mjs|js|py|md|yaml|css|html)$/.test(path) && !isExempt(path))
    assert.deepEqual(
      files.flatMap((path) => usesIn(path, textOf(path), retired)),
      [],
    )
  })
})

/** Texts that are not ours, and the pages that name retired terms on purpose. */
function isExempt(path: string): boolean {
  return (
    path === glossary ||
    path === 'test/vocabulary.test.ts' ||
    path.startsWith('test/replay/') ||
    path.startsWith('test/hooks/seeds/')
  )
}
