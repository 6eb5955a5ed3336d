import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createCommandPolicy, isUnchecked } from '../../../src/agent/command-policy/policy.ts'
import { allowed, forbidden, needsApproval } from './commands.ts'

const policy = createCommandPolicy({ home: '/home/me/.hermes', userHome: '/home/me' })
const cwd = '/home/me/project'
const evaluate = (command: string) => policy.evaluate(command, { cwd })

for (const [rule, commands] of Object.entries(forbidden)) {
  for (const command of commands) {
    test(`never runs (${rule}): ${JSON.stringify(command)}`, () => {
      const result = evaluate(command)
      assert.equal(result.decision, 'forbidden', JSON.stringify(result))
      assert.equal(result.decision === 'forbidden' && result.rule, rule)
    })
  }
}

for (const [rule, commands] of Object.entries(needsApproval)) {
  for (const command of commands) {
    test(`needs approval (${rule}): ${JSON.stringify(command)}`, () => {
      const result = evaluate(command)
      assert.equal(result.decision, 'needs-approval', JSON.stringify(result))
      assert.equal(result.decision === 'needs-approval' && result.rule, rule)
    })
  }
}

for (const command of allowed) {
  test(`runs freely: ${JSON.stringify(command)}`, () => {
    assert.deepEqual(evaluate(command), { decision: 'allow' })
  })
}

test('relative paths are resolved against the working directory', () => {
  assert.equal(policy.evaluate('rm -rf *', { cwd: '/' }).decision, 'forbidden')
  assert.equal(policy.evaluate('rm -rf .', { cwd: '/home/me' }).decision, 'forbidden')
  assert.equal(policy.evaluate('rm -rf ../..', { cwd: '/home/me/project' }).decision, 'forbidden')
  assert.equal(policy.evaluate('rm -rf *', { cwd: '/home/me/project' }).decision, 'needs-approval')
  assert.equal(policy.evaluate('cat .env', { cwd: '/home/me/.hermes' }).decision, 'needs-approval')
  assert.equal(policy.evaluate('cat .env', { cwd: '/home/me/project' }).decision, 'allow')
})

test('hermes needs approval only where it has the rights of the owner, and other parts of the command always do', () => {
  const judge = (command: string, limitsHermes: boolean) => policy.evaluate(command, { limitsHermes }).decision
  assert.equal(judge('hermes plugins enable guard', false), 'needs-approval')
  assert.equal(judge('hermes plugins enable guard', true), 'allow')
  assert.equal(judge('hermes plugins enable guard; kill -9 -1', true), 'forbidden')
  assert.equal(judge('hermes plugins enable guard && rm -rf build', true), 'needs-approval')
})

test('an interpreter with open input needs approval', () => {
  assert.equal(policy.evaluate('bash', { interactive: true }).decision, 'needs-approval')
  assert.equal(policy.evaluate('python3 -i', { interactive: true }).decision, 'needs-approval')
  assert.equal(policy.evaluate('bash').decision, 'allow')
  assert.equal(policy.evaluate('npm run dev', { interactive: true }).decision, 'allow')
})

test('the deny list of the user ignores case and applies to every command of a line', () => {
  const strict = createCommandPolicy({
    home: '/home/me/.hermes',
    userHome: '/home/me',
    settings: () => ({ approvals: { deny: ['git push --force*', 'terraform destroy', '/opt/tools/deploy *'] } }),
  })
  for (const command of [
    'git push --force origin main',
    'GIT PUSH --FORCE',
    'cd repo && git  push   --force',
    'sudo -u bot git push --force-with-lease',
    "g''it push '--force'",
    'echo $(terraform destroy)',
    '/usr/local/bin/terraform destroy',
    '/opt/tools/deploy now',
  ]) {
    const result = strict.evaluate(command)
    assert.deepEqual([result.decision, 'rule' in result && result.rule], ['forbidden', 'denied'], command)
  }
  assert.equal(strict.evaluate('git push').decision, 'allow')
  assert.equal(strict.evaluate('echo "git push --force"').decision, 'allow')
  assert.equal(strict.evaluate('terraform plan').decision, 'allow')
})

test('a built-in rule is reported before the deny list', () => {
  const strict = createCommandPolicy({ home: '/h', userHome: '/u', settings: () => ({ approvals: { deny: ['*'] } }) })
  const result = strict.evaluate('rm -rf /')
  assert.equal('rule' in result && result.rule, 'remove-vital')
  assert.equal(strict.evaluate('ls').decision, 'forbidden')
})

test('a reason completes a sentence and the rule is a short name', () => {
  const result = evaluate('rm -r build')
  assert.ok('reason' in result)
  assert.match(result.rule, /^[a-z-]+$/)
  assert.match(result.reason, /^[a-z].*[^.]$/)
})

test('a forbidden command stays forbidden between other text', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z ]{0,20}$/), (words) => {
      assert.equal(evaluate(`echo ${words}; rm -rf /; echo ${words}`).decision, 'forbidden')
    }),
    { numRuns: 100 },
  )
})

test('quoting does not change the decision on a forbidden command', () => {
  const quoted = (word: string) =>
    fc.array(fc.nat({ max: 3 }), { minLength: word.length, maxLength: word.length }).map((ways) =>
      [...word]
        .map((character, index) => {
          const hex = `$'\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}'`
          return [character, `'${character}'`, `"${character}"`, hex][ways[index] ?? 0]
        })
        .join(''),
    )
  fc.assert(
    fc.property(quoted('rm'), quoted('-rf'), quoted('/etc'), (name, option, target) => {
      assert.equal(evaluate(`${name} ${option} ${target}`).decision, 'forbidden')
    }),
  )
})

test('a command that is hard to analyze needs approval, and a forbidden command in it stays forbidden', () => {
  const variables = Array.from({ length: 30 }, (_, index) => `v${index + 1}=$v${index}$v${index}`).join('; ')
  assert.equal(evaluate(`v0=x; ${variables}; rm $v30`).decision, 'needs-approval')
  assert.equal(evaluate(`rm ${'x '.repeat(30_000)}`).decision, 'needs-approval')
  assert.equal(evaluate('x'.repeat(300_000)).decision, 'needs-approval')
  assert.equal(evaluate(`${'sudo '.repeat(2_000)}ls`).decision, 'needs-approval')
  assert.equal(evaluate(`echo ${'{a,b}'.repeat(60)}; rm -rf /`).decision, 'forbidden')
  assert.equal(evaluate(`${'$('.repeat(100)}rm -rf /${')'.repeat(100)}`).decision, 'forbidden')
})

test('a command that is nested too deeply needs approval', () => {
  for (const command of [`${'$('.repeat(5_000)}x${')'.repeat(5_000)}`, '('.repeat(50_000)]) {
    assert.equal(evaluate(command).decision, 'needs-approval')
  }
})

test('a command with more words than can be checked quickly needs approval; a long text of a few words does not', () => {
  assert.equal(evaluate(`echo ${'a '.repeat(1_900)}`).decision, 'allow')
  for (const many of ['a ', 'a;', 'eval ', '>a '].map((part) => part.repeat(3_000)))
    assert.ok(isUnchecked(ruleOf(evaluate(many))), many.slice(0, 20))
  assert.equal(evaluate(`cat > notes <<'END'\n${'x'.repeat(30_000)}\nEND`).decision, 'allow')
  assert.equal(evaluate(`rm -rf /; ${'a;'.repeat(3_000)}`).decision, 'forbidden')
})

function ruleOf(decision: ReturnType<typeof evaluate>): string {
  return decision.decision === 'allow' ? '' : decision.rule
}
