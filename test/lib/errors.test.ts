import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { errorCatalogue } from '../../src/lib/error-catalogue.ts'
import { assertNever, HermesError, isHermesError, messageOf, systemCode, toError } from '../../src/lib/errors.ts'
import { brand } from '../../src/lib/ids.ts'
import type { SessionKey } from '../../src/message/ids.ts'

test('an error has a meaning, a detail and a hint', () => {
  const cause = new Error('disk full')
  const error = new HermesError('store/full', '(state.db)', { cause })
  assert.equal(error.message, `${errorCatalogue['store/full'].meaning} (state.db)`)
  assert.equal(error.hint, errorCatalogue['store/full'].hint)
  assert.equal(error.cause, cause)
  assert.equal(error.name, 'HermesError')
  assert.equal(new HermesError('store/full').message, errorCatalogue['store/full'].meaning)
  assert.equal('cause' in new HermesError('store/full'), false)
  assert.equal(new HermesError('store/full', '', { hint: 'Buy a disk.' }).hint, 'Buy a disk.')
})

test('every error of the catalogue has a code with its module, and a meaning and a hint in whole sentences', () => {
  for (const [code, { meaning, hint }] of Object.entries(errorCatalogue)) {
    assert.match(code, /^[a-z]+\/[a-z-]+$/)
    for (const text of [meaning, hint]) assert.match(text, /^[A-Z`][\s\S]*[.`]$/, code)
  }
})

test('an error is recognised by its code', () => {
  const error = new HermesError('store/full')
  assert.equal(isHermesError(error), true)
  assert.equal(isHermesError(error, 'store/full'), true)
  assert.equal(isHermesError(error, 'store/locked'), false)
  for (const other of [undefined, null, 'store/full', { code: 'store/full' }, new Error('store/full')]) {
    assert.equal(isHermesError(other), false)
  }
})

test('a thrown value of any type has a message and can be a cause', () => {
  assert.equal(messageOf(new Error('no')), 'no')
  assert.equal(messageOf('no'), 'no')
  for (const odd of [undefined, null, 5, {}, Object.create(null), Symbol('x')])
    assert.match(messageOf(odd), new RegExp(`\\b${typeof odd}\\b`))
  const error = new Error('no')
  assert.equal(toError(error), error)
  assert.equal(toError('no').message, 'no')
  assert.equal(toError('no').cause, 'no')
})

test('an error whose properties throw has a message', () => {
  const trap = () => {
    throw new Error('trapped')
  }
  const silent = Object.defineProperty(new Error('x'), 'message', { get: trap })
  const revoked = Proxy.revocable({}, {})
  revoked.revoke()
  for (const odd of [silent, new Proxy({}, { getPrototypeOf: trap }), revoked.proxy])
    assert.notEqual(messageOf(odd), '')
  const structured = Object.assign(new Error('x'), { message: { code: 5 } })
  assert.match(messageOf(structured), /\bobject\b/)
})

test('system errors are recognised by their code', () => {
  let thrown: unknown
  try {
    readFileSync('/nowhere/at/all')
  } catch (error) {
    thrown = error
  }
  assert.equal(systemCode(thrown), 'ENOENT')
  assert.equal(systemCode(new Error('no')), undefined)
  assert.equal(systemCode({ code: 'ENOENT' }), undefined)
  assert.equal(systemCode(Object.assign(new Error('no'), { code: 5 })), undefined)
})

test('a case that the types exclude throws an error with the value', () => {
  assert.throws(() => Reflect.apply(assertNever, undefined, ['surprise']), /"surprise"/)
})

test('a branded id is the same string', () => {
  const key = brand<SessionKey>('agent:main:web:dm:1')
  assert.equal(`${key}`, 'agent:main:web:dm:1')
  assert.equal(typeof key, 'string')
})
