import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isPublicAddress } from '../../src/media/public-address.ts'
import { closedAddresses } from './closed-addresses.ts'

test('addresses of the internet are public', () => {
  for (const address of ['8.8.8.8', '151.101.1.140', '2606:4700::1111', '::ffff:8.8.8.8', '64:ff9b::808:808']) {
    assert.equal(isPublicAddress(address), true, address)
  }
})

test('loopback, private, cloud and reserved addresses are not public', () => {
  for (const address of closedAddresses) assert.equal(isPublicAddress(address), false, address)
})

test('an invalid address is not public', () => {
  for (const text of ['', 'localhost', 'example.org', '1.2.3.4.5', '[::1]', '8.8.8.8:80', '8.8.8.8 ']) {
    assert.equal(isPublicAddress(text), false, text)
  }
})
