import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isPublicAddress } from '../../src/media/public-address.ts'

test('addresses of the internet are public', () => {
  for (const address of ['8.8.8.8', '151.101.1.140', '2606:4700::1111', '::ffff:8.8.8.8', '64:ff9b::808:808']) {
    assert.equal(isPublicAddress(address), true, address)
  }
})

test('loopback, private, cloud and reserved addresses are not public', () => {
  const closed = [
    ...['127.0.0.1', '127.8.9.1', '0.0.0.0', '0.1.2.3', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
    ...['169.254.169.254', '100.64.0.1', '100.100.100.200', '168.63.129.16', '192.0.0.8', '192.0.2.1', '198.18.0.1'],
    ...['198.51.100.1', '203.0.113.5', '224.0.0.1', '239.1.1.1', '240.0.0.1', '255.255.255.255', '192.88.99.1'],
    ...['::', '::1', '::7f00:1', 'fe80::1', 'fe80::1%eth0', 'fc00::1', 'fd00:ec2::254', 'fec0::1', 'ff02::1'],
    ...['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:169.254.169.254', '64:ff9b::7f00:1', '64:ff9b:1::808:808'],
    ...['2001:db8::1', '2001::1', '2002:7f00:1::', '100::1', '4000::1', '3fff::1'],
  ]
  for (const address of closed) assert.equal(isPublicAddress(address), false, address)
})

test('an invalid address is not public', () => {
  for (const text of ['', 'localhost', 'example.org', '1.2.3.4.5', '[::1]', '8.8.8.8:80', '8.8.8.8 ']) {
    assert.equal(isPublicAddress(text), false, text)
  }
})
