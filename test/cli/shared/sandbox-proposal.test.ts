import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { sandboxProposal } from '../../../src/cli/shared/sandbox-proposal.ts'
import { tempHome } from '../../kit/temp-home.ts'

const usual = { backend: 'local', sandbox: 'auto' }

test('setup proposes bubblewrap where it is installed, and says how to install it elsewhere', (t) => {
  const searchPath = tempHome(t)
  assert.match(sandboxProposal({ terminal: usual, searchPath, platform: 'linux' }), /apt-get install bubblewrap/)
  writeFileSync(join(searchPath, 'bwrap'), '', { mode: 0o755 })
  assert.match(sandboxProposal({ terminal: usual, searchPath, platform: 'linux' }), /terminal\.backend: bwrap/)
})

test('setup proposes no sandbox where one was chosen, or where bubblewrap does not exist', (t) => {
  const searchPath = tempHome(t)
  const propose = (terminal: typeof usual, platform: NodeJS.Platform = 'linux') =>
    sandboxProposal({ terminal, searchPath, platform })
  assert.equal(propose({ ...usual, backend: 'bwrap' }), '')
  assert.equal(propose({ ...usual, backend: 'docker' }), '')
  assert.equal(propose({ ...usual, sandbox: 'off' }), '')
  assert.equal(propose(usual, 'darwin'), '')
})
