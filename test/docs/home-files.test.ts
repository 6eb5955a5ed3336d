/**
 * docs/reference/files.md lists what the sources put into the home, and says what each is for.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { homeFiles } from './generated/home-files.ts'
import { filesOf, textOf } from './repository.ts'

test('every file and folder that the sources name in the home is in the table of files', () => {
  const named = filesOf('src')
    .filter((path) => path.endsWith('.ts'))
    .flatMap((path) =>
      [...textOf(path).matchAll(/\bjoin\((?:\w+\.)*home(?:\.root)?, '([^']+)'/g)].map(([, name = '']) => name),
    )
  const table = homeFiles()
  const missing = [...new Set(named)].filter(
    (name) => !table.includes(`\`${name}\``) && !table.includes(`\`${name}/\``),
  )
  assert.ok(named.length >= 3)
  assert.deepEqual(missing, [])
})

test('nothing in the table of files is said to have no use', () => {
  assert.doesNotMatch(homeFiles(), /not used yet|not yet/i)
  assert.match(homeFiles(), /`cron\/` \| the gateway \| `jobs\.json`/)
})
